// Every endpoint of API.md, "Endpoints": method, path template, query parameters in use.

/** Name → method, path template, and whether the response is paged. */
export const ENDPOINTS = {
  getAccountInsight: { method: "GET", path: "/v1/account-insights", paged: false },
  listAccounts: { method: "GET", path: "/v1/accounts", paged: true },
  getAccount: { method: "GET", path: "/v1/accounts/{id}", paged: false },
  listContacts: { method: "GET", path: "/v1/contacts", paged: true },
  getContact: { method: "GET", path: "/v1/contacts/{id}", paged: false },
  listSignals: { method: "GET", path: "/v1/signals", paged: true },
  getSignalCounts: { method: "GET", path: "/v1/signals/counts", paged: false },
  getSignal: { method: "GET", path: "/v1/signals/{id}", paged: false },
  resolveCompany: { method: "GET", path: "/v1/companies/by-input/{input}", paged: false },
  getCompany: { method: "GET", path: "/v1/companies/{companyId}", paged: false },
  listNewsArticles: { method: "GET", path: "/v1/companies/{companyId}/news-articles", paged: true },
  listJobOpenings: { method: "GET", path: "/v1/companies/{companyId}/job-openings", paged: true },
  listEarningsCalls: { method: "GET", path: "/v1/companies/{companyId}/earnings-calls", paged: true },
  listFilings: { method: "GET", path: "/v1/companies/{companyId}/filings", paged: true },
  getUsage: { method: "GET", path: "/v1/usage", paged: false },
  listUsageRequests: { method: "GET", path: "/v1/usage/requests", paged: true },
  getUsageLimits: { method: "GET", path: "/v1/usage/limits", paged: false },
  sendFeedback: { method: "POST", path: "/v1/feedback", paged: false },
} as const satisfies Record<string, { method: "GET" | "POST"; path: string; paged: boolean }>;

export type EndpointName = keyof typeof ENDPOINTS;

/** Path of an endpoint with its parameters filled in and percent-encoded. */
export const pathOf = (endpoint: EndpointName, params: Readonly<Record<string, string>> = {}): string =>
  ENDPOINTS[endpoint].path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${endpoint}: path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });
