// Every endpoint of API.md, "Endpoints": method, path template, query parameters in use; paths from parameters and back.

const PAGE = ["page", "perPage"] as const;
const SORT = ["sortBy", "sortOrder"] as const;
const COMPANY = ["view", "onlyWithFields", "include"] as const;
const COMPANY_LIST = ["view", ...PAGE, "onlyWithFields"] as const;

interface Endpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly paged: boolean;
  readonly query: readonly string[];
}

/** Name → method, path template, whether the response is paged, and the query parameters that a request may carry. */
export const ENDPOINTS = {
  getAccountInsight: {
    method: "GET",
    path: "/v1/account-insights",
    paged: false,
    query: ["accountId", "domain", "query", "include", "contactsLimit", "signalsLimit", "sections"],
  },
  listAccounts: {
    method: "GET",
    path: "/v1/accounts",
    paged: true,
    query: [
      ...["view", ...PAGE, ...SORT, "onlyWithFields", "include", "textQuery", "ids", "domain", "companyId", "ownerId"],
      ...["type", "priority", "hasSignalsOfType", "hasSignalsAfterDate"],
    ],
  },
  getAccount: {
    method: "GET",
    path: "/v1/accounts/{id}",
    paged: false,
    query: ["view", "onlyWithFields", "include", "signalsLimit", "contactsLimit"],
  },
  listContacts: {
    method: "GET",
    path: "/v1/contacts",
    paged: true,
    query: [
      ...[...PAGE, ...SORT, "onlyWithFields", "include", "accountId", "textQuery", "currentTitleTextQuery", "type"],
      ...["changeType", "isInCurrentRoleBeforeDate", "isInCurrentRoleAfterDate"],
      ...["lastChangeDetectedBefore", "lastChangeDetectedAfter"],
    ],
  },
  getContact: { method: "GET", path: "/v1/contacts/{id}", paged: false, query: ["onlyWithFields", "include"] },
  listSignals: {
    method: "GET",
    path: "/v1/signals",
    paged: true,
    query: [...PAGE, ...SORT, "onlyWithFields", "textQuery", "accountId", "type", "afterDate", "beforeDate"],
  },
  getSignalCounts: {
    method: "GET",
    path: "/v1/signals/counts",
    paged: false,
    query: ["textQuery", "accountId", "afterDate", "beforeDate"],
  },
  getSignal: { method: "GET", path: "/v1/signals/{id}", paged: false, query: ["onlyWithFields"] },
  resolveCompany: { method: "GET", path: "/v1/companies/by-input/{input}", paged: false, query: COMPANY },
  getCompany: { method: "GET", path: "/v1/companies/{companyId}", paged: false, query: COMPANY },
  listNewsArticles: {
    method: "GET",
    path: "/v1/companies/{companyId}/news-articles",
    paged: true,
    query: COMPANY_LIST,
  },
  listJobOpenings: { method: "GET", path: "/v1/companies/{companyId}/job-openings", paged: true, query: COMPANY_LIST },
  listEarningsCalls: {
    method: "GET",
    path: "/v1/companies/{companyId}/earnings-calls",
    paged: true,
    query: COMPANY_LIST,
  },
  listFilings: { method: "GET", path: "/v1/companies/{companyId}/filings", paged: true, query: COMPANY_LIST },
  getUsage: {
    method: "GET",
    path: "/v1/usage",
    paged: false,
    query: ["window", "organizationId", "groupBy", "from", "to"],
  },
  listUsageRequests: {
    method: "GET",
    path: "/v1/usage/requests",
    paged: true,
    query: ["window", "organizationId", "from", "to", ...PAGE],
  },
  getUsageLimits: { method: "GET", path: "/v1/usage/limits", paged: false, query: ["organizationId"] },
  sendFeedback: { method: "POST", path: "/v1/feedback", paged: false, query: [] },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

/** True when a request to the endpoint may carry the query parameter. */
export const takes = (endpoint: EndpointName, parameter: string): boolean => {
  const query: readonly string[] = ENDPOINTS[endpoint].query;
  return query.includes(parameter);
};

/** Path of an endpoint with its parameters filled in and percent-encoded. */
export const pathOf = (endpoint: EndpointName, params: Readonly<Record<string, string>> = {}): string =>
  ENDPOINTS[endpoint].path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${endpoint}: path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });

/** Values that a path segment cannot carry: an empty one is another route, and servers resolve the dots away. */
const isSegment = (value: string): boolean => value !== "" && value !== "." && value !== ".." && value.isWellFormed();

/** The parameters of a path that `pathOf` made for this endpoint; null where it made no such path. */
export const paramsOf = (endpoint: EndpointName, path: string): Readonly<Record<string, string>> | null => {
  const template = ENDPOINTS[endpoint].path.split("/");
  const segments = path.split("/");
  if (segments.length !== template.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined && segment !== part) return null;
    try {
      if (name !== undefined) params[name] = decodeURIComponent(segment);
    } catch {
      return null;
    }
  }
  return Object.values(params).every(isSegment) && pathOf(endpoint, params) === path ? params : null;
};
