// THE table of routes: path, tier, parameters and response of every endpoint of API.md, "Endpoints"; paths from parameters
// and back. Requests, the router, the parameter checks and the OpenAPI document all read it.
import { PRIORITIES } from "./resources.ts";
import { COMPANY_TABLES, type CompanyTable, type TableName } from "./tables.ts";

type ParamType = "text" | "csv" | "number" | "date" | "choice" | "choices";

export interface ParamSpec {
  readonly name: string;
  readonly type: ParamType;
  readonly meaning: string;
  /** Values of a `choice` or `choices` parameter; anything else is refused with 400. */
  readonly allowed?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly default?: string | number;
  readonly required?: boolean;
}

type Shape = "list" | "record" | "counts" | "insight" | "usage" | "limits" | "feedback";

export interface RouteSpec {
  readonly name: EndpointName;
  readonly method: "GET" | "POST";
  /** Path template as API.md writes it; it has one parameter at most. */
  readonly path: string;
  readonly summary: string;
  /** Access tier (API.md, "Access tiers"); `any`: usage and feedback. */
  readonly tier: "full" | "public" | "any";
  readonly pathParams: readonly ParamSpec[];
  readonly query: readonly ParamSpec[];
  readonly shape: Shape;
  /** Table of the records in `data`; null: `data` holds no records. */
  readonly table: TableName | null;
  /** Meaning of its 404; absent: the route has none. */
  readonly notFound?: string;
}

type Draft = Omit<RouteSpec, "name">;
type Extra = Partial<Pick<ParamSpec, "allowed" | "min" | "max" | "default" | "required">>;

const param =
  (type: ParamType) =>
  (name: string, meaning: string, extra: Extra = {}): ParamSpec => ({ name, type, meaning, ...extra });
const text = param("text");
const csv = param("csv");
const number = param("number");
const date = param("date");
const choice = param("choice");
const choices = param("choices");

const view = choice("view", "Output variant.", { allowed: ["default", "export"], default: "default" });
const onlyWithFields = csv("onlyWithFields", "Fields to return; opt-in fields are returned only when named here.");
const include = (...allowed: string[]) =>
  choices("include", "Related resources to embed under `included`.", { allowed });
const paging = [
  number("perPage", "Rows per page.", { min: 1, default: 20 }),
  number("page", "Page, from 1.", { min: 1, default: 1 }),
];
const sorting = (sortBy: string) => [
  text("sortBy", "Field of the resource to sort by.", { default: sortBy }),
  choice("sortOrder", "Direction.", { allowed: ["asc", "desc"], default: "desc" }),
];
const contactsLimit = number("contactsLimit", "Contacts at most when included.", { min: 1, max: 100, default: 10 });
const signalsLimit = number("signalsLimit", "Signals at most when included.", { min: 1, max: 100, default: 20 });
const signalScope = [
  text("textQuery", "Full-text search on signal content."),
  csv("accountId", "Account ids."),
  date("afterDate", "Signals dated after it."),
  date("beforeDate", "Signals dated before it."),
];
const windowed = (whole: Extra) => [
  choice("window", "Window of the figures.", { allowed: ["daily", "monthly", "custom"], ...whole }),
  text("organizationId", "Organization; only the caller's own has figures."),
  date("from", "Start of a custom window."),
  date("to", "End of a custom window."),
];
const companyId = text("companyId", "Canonical company id.", { required: true });

const route = (
  tier: RouteSpec["tier"],
  path: string,
  summary: string,
  [shape, table]: readonly [Shape, TableName?],
  query: readonly ParamSpec[],
  more: Partial<Pick<Draft, "method" | "pathParams" | "notFound">> = {},
): Draft => ({ method: "GET", path, summary, tier, pathParams: [], query, shape, table: table ?? null, ...more });

const companyRoute = (path: string, id: ParamSpec, summary: string, notFound: string) =>
  route(
    "public",
    path,
    summary,
    ["record", "companies"],
    [view, onlyWithFields, include("latestEarningsCall", "latestEarningsCallAnalysis")],
    { pathParams: [id], notFound },
  );

const fixed = {
  getAccountInsight: route(
    "full",
    "/v1/account-insights",
    "Resolve one account and return its consolidated insight",
    ["insight", "account_insights"],
    [
      number("accountId", "Direct lookup; takes priority over domain and query."),
      text("domain", "Exact match after normalization: www and subdomains stripped, lowercased."),
      text("query", "Company-name search; a value with a dot is tried as a domain first."),
      include("contacts", "signals"),
      contactsLimit,
      signalsLimit,
      choices("sections", "Sections to return; profile always is.", {
        allowed: ["profile", "summary", "research", "swotAnalysis", "value"],
      }),
    ],
  ),
  listAccounts: route(
    "full",
    "/v1/accounts",
    "List tracked accounts",
    ["list", "accounts"],
    [
      view,
      ...paging,
      ...sorting("mainScore"),
      onlyWithFields,
      include("company", "owner"),
      text("textQuery", "Search by name or domain."),
      csv("ids", "Account ids."),
      text("domain", "Exact domain match."),
      text("companyId", "Linked company."),
      text("ownerId", "Owner user."),
      text("type", "Account type."),
      choice("priority", "Priority.", { allowed: PRIORITIES.map(String) }),
      csv("hasSignalsOfType", "Signal types; applies together with hasSignalsAfterDate."),
      date("hasSignalsAfterDate", "Only accounts with at least one signal after it."),
    ],
  ),
  getAccount: route(
    "full",
    "/v1/accounts/{accountId}",
    "Get one account",
    ["record", "accounts"],
    [view, onlyWithFields, include("company", "owner", "contacts", "signals"), signalsLimit, contactsLimit],
    { pathParams: [number("accountId", "Account id.", { required: true })], notFound: "account not found" },
  ),
  listContacts: route(
    "full",
    "/v1/contacts",
    "List contacts",
    ["list", "contacts"],
    [
      ...paging,
      ...sorting("inCurrentRoleSince"),
      onlyWithFields,
      include("account"),
      csv("accountId", "Account ids."),
      text("textQuery", "Full-text search on name, title, company and location."),
      text("currentTitleTextQuery", "Full-text search on the current title."),
      text("type", "Contact type."),
      text("changeType", "Kind of the last career change."),
      date("isInCurrentRoleBeforeDate", "In the current role since before it."),
      date("isInCurrentRoleAfterDate", "In the current role since after it."),
      date("lastChangeDetectedBefore", "Last change detected before it."),
      date("lastChangeDetectedAfter", "Last change detected after it."),
    ],
  ),
  getContact: route(
    "full",
    "/v1/contacts/{contactId}",
    "Get one contact",
    ["record", "contacts"],
    [onlyWithFields, include("account")],
    { pathParams: [text("contactId", "Contact id.", { required: true })], notFound: "contact not found" },
  ),
  listSignals: route(
    "full",
    "/v1/signals",
    "List signals",
    ["list", "signals"],
    [...paging, ...sorting("date"), onlyWithFields, csv("type", "Signal types."), ...signalScope],
  ),
  // Before the route of one signal, which would take "counts" for an id.
  getSignalCounts: route("full", "/v1/signals/counts", "Count signals by type", ["counts"], signalScope),
  getSignal: route(
    "full",
    "/v1/signals/{signalId}",
    "Get one signal with full content and sources",
    ["record", "signals"],
    [onlyWithFields],
    { pathParams: [number("signalId", "Signal id.", { required: true })], notFound: "signal not found" },
  ),
  resolveCompany: companyRoute(
    "/v1/companies/by-input/{companyInputId}",
    text("companyInputId", "Company id, domain, website URL, stock symbol, professional-network or funding URL.", {
      required: true,
    }),
    "Resolve a company",
    "no company for the input",
  ),
  getCompany: companyRoute("/v1/companies/{companyId}", companyId, "Get one company", "company not found"),
  getUsage: route(
    "any",
    "/v1/usage",
    "Quota and usage in a window",
    ["usage"],
    [
      ...windowed({ default: "monthly" }),
      choice("groupBy", "Grouping of the breakdown.", { allowed: ["endpoint", "apiKey", "day"] }),
    ],
  ),
  listUsageRequests: route(
    "any",
    "/v1/usage/requests",
    "Request history, newest first",
    ["list", "usage_requests"],
    [...windowed({}), ...paging],
  ),
  getUsageLimits: route(
    "any",
    "/v1/usage/limits",
    "Contracted daily and monthly limits",
    ["limits"],
    [text("organizationId", "Organization; only the caller's own has limits.")],
  ),
  sendFeedback: route("any", "/v1/feedback", "Send feedback", ["feedback"], [], { method: "POST" }),
};

type Capitals<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Capitalize<First>}${Capitals<Rest>}`
  : Capitalize<Name>;

/** Route of a company's list, from its table: `news_articles` has `listNewsArticles`. */
export type CompanyListName = `list${Capitals<CompanyTable>}`;
export type EndpointName = keyof typeof fixed | CompanyListName;

const companyLists = COMPANY_TABLES.map((table): readonly [string, Draft] => {
  const name = `list${table.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
  const path = `/v1/companies/{companyId}/${table.replaceAll("_", "-")}`;
  const query = [view, ...paging, onlyWithFields];
  const more = { pathParams: [companyId], notFound: "company not found" };
  return [name, route("public", path, `List a company's ${table.replaceAll("_", " ")}`, ["list", table], query, more)];
});

/** Every route, in the order in which a path is matched. */
export const ENDPOINTS = Object.fromEntries(
  [...Object.entries(fixed), ...companyLists].map(([name, draft]) => [name, { name, ...draft }]),
) as Readonly<Record<EndpointName, RouteSpec>>;

/** Route of the list of a company's table. */
export const companyListRoute = (table: CompanyTable): RouteSpec => {
  const found = Object.values(ENDPOINTS).find((each) => each.shape === "list" && each.table === table);
  if (found === undefined) throw new TypeError(`${table} has no route`);
  return found;
};

/** True when the response has a `usage` block (API.md, "Envelope objects"). */
export const hasUsage = ({ tier }: RouteSpec): boolean => tier !== "any";

/** True when a request to the endpoint may carry the query parameter. */
export const takes = (endpoint: EndpointName, parameter: string): boolean =>
  ENDPOINTS[endpoint].query.some(({ name }) => name === parameter);

/** Path of an endpoint with its parameter filled in and percent-encoded. */
export const pathOf = (endpoint: EndpointName, value?: string): string =>
  ENDPOINTS[endpoint].path.replace(/\{(\w+)\}/, (_, name: string) => {
    if (value === undefined) throw new TypeError(`${endpoint}: path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });

/** Values that a path segment cannot carry: an empty one is another route, and servers resolve the dots away. */
const isSegment = (value: string): boolean => value !== "" && value !== "." && value !== ".." && value.isWellFormed();

/** True for a path that `pathOf` made for this endpoint, and that leads to it. */
export const leadsTo = (endpoint: EndpointName, path: string): boolean => {
  const [before = "", after] = ENDPOINTS[endpoint].path.split(/\{\w+\}/);
  if (after === undefined) return path === before;
  try {
    const value = decodeURIComponent(path.slice(before.length, path.length - after.length));
    return isSegment(value) && pathOf(endpoint, value) === path;
  } catch {
    return false;
  }
};
