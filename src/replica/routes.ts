// THE table of routes: path, tier, parameters and response of every endpoint of API.md, "Endpoints".
// The router, the parameter checks and the OpenAPI document all read it.
import { PRIORITIES } from "../catalog/resources.ts";
import { STREAM_NAMES, streamSpec } from "../catalog/streams.ts";
import { isCompanyTable, type TableName } from "../catalog/tables.ts";

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

/** Content of `data`. */
type Shape = "list" | "record" | "counts" | "insight" | "usage" | "limits" | "feedback";

export interface RouteSpec {
  readonly name: string;
  /** What answers it. */
  readonly kind: RouteName | "companyList";
  /** The table of a company's list. */
  readonly table?: TableName;
  readonly method: "GET" | "POST";
  /** Path template as API.md writes it. */
  readonly path: string;
  readonly summary: string;
  /** Access tier (API.md, "Access tiers"); `any`: usage and feedback. */
  readonly tier: "full" | "public" | "any";
  readonly pathParams: readonly ParamSpec[];
  readonly query: readonly ParamSpec[];
  readonly shape: Shape;
  /** True when the response has a `usage` block (API.md, "Envelope objects"). */
  readonly usageBlock: boolean;
  /** Meaning of its 404; absent: the route has none. */
  readonly notFound?: string;
}

type Draft = Omit<RouteSpec, "name" | "kind">;
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

const companyRoute = (path: string, id: ParamSpec, summary: string, notFound: string): Draft => ({
  method: "GET",
  path,
  summary,
  tier: "public",
  pathParams: [id],
  query: [view, onlyWithFields, include("latestEarningsCall", "latestEarningsCallAnalysis")],
  shape: "record",
  usageBlock: true,
  notFound,
});

/** The routes of companies' lists, one per stream of the catalog: `newsArticles`, `filings` and so on. */
const companyLists: readonly RouteSpec[] = STREAM_NAMES.map(streamSpec)
  .filter(({ table }) => isCompanyTable(table))
  .map(({ table, path }) => ({
    name: table.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    kind: "companyList",
    table,
    method: "GET",
    path,
    summary: `List a company's ${table.replaceAll("_", " ")}`,
    tier: "public",
    pathParams: [companyId],
    query: [view, ...paging, onlyWithFields],
    shape: "list",
    usageBlock: true,
    notFound: "company not found",
  }));

const full = (path: string, summary: string, shape: Shape, query: readonly ParamSpec[]): Draft => ({
  method: "GET",
  path,
  summary,
  tier: "full",
  pathParams: [],
  query,
  shape,
  usageBlock: true,
});

const plain = (path: string, summary: string, shape: Shape, query: readonly ParamSpec[]): Draft => ({
  method: "GET",
  path,
  summary,
  tier: "any",
  pathParams: [],
  query,
  shape,
  usageBlock: false,
});

const table = {
  accountInsight: full("/v1/account-insights", "Resolve one account and return its consolidated insight", "insight", [
    number("accountId", "Direct lookup; takes priority over domain and query."),
    text("domain", "Exact match after normalization: www and subdomains stripped, lowercased."),
    text("query", "Company-name search; a value with a dot is tried as a domain first."),
    include("contacts", "signals"),
    contactsLimit,
    signalsLimit,
    choices("sections", "Sections to return; profile always is.", {
      allowed: ["profile", "summary", "research", "swotAnalysis", "value"],
    }),
  ]),
  accounts: full("/v1/accounts", "List tracked accounts", "list", [
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
  ]),
  account: {
    ...full("/v1/accounts/{accountId}", "Get one account", "record", [
      view,
      onlyWithFields,
      include("company", "owner", "contacts", "signals"),
      signalsLimit,
      contactsLimit,
    ]),
    pathParams: [number("accountId", "Account id.", { required: true })],
    notFound: "account not found",
  },
  contacts: full("/v1/contacts", "List contacts", "list", [
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
  ]),
  contact: {
    ...full("/v1/contacts/{contactId}", "Get one contact", "record", [onlyWithFields, include("account")]),
    pathParams: [text("contactId", "Contact id.", { required: true })],
    notFound: "contact not found",
  },
  signals: full("/v1/signals", "List signals", "list", [
    ...paging,
    ...sorting("date"),
    onlyWithFields,
    csv("type", "Signal types."),
    ...signalScope,
  ]),
  signalCounts: full("/v1/signals/counts", "Count signals by type", "counts", signalScope),
  signal: {
    ...full("/v1/signals/{signalId}", "Get one signal with full content and sources", "record", [onlyWithFields]),
    pathParams: [number("signalId", "Signal id.", { required: true })],
    notFound: "signal not found",
  },
  companyByInput: companyRoute(
    "/v1/companies/by-input/{companyInputId}",
    text("companyInputId", "Company id, domain, website URL, stock symbol, professional-network or funding URL.", {
      required: true,
    }),
    "Resolve a company",
    "no company for the input",
  ),
  company: companyRoute("/v1/companies/{companyId}", companyId, "Get one company", "company not found"),
  usage: plain("/v1/usage", "Quota and usage in a window", "usage", [
    ...windowed({ default: "monthly" }),
    choice("groupBy", "Grouping of the breakdown.", { allowed: ["endpoint", "apiKey", "day"] }),
  ]),
  usageRequests: plain("/v1/usage/requests", "Request history, newest first", "list", [...windowed({}), ...paging]),
  usageLimits: plain("/v1/usage/limits", "Contracted daily and monthly limits", "limits", [
    text("organizationId", "Organization; only the caller's own has limits."),
  ]),
  feedback: { ...plain("/v1/feedback", "Send feedback", "feedback", []), method: "POST" },
} as const satisfies Record<string, Draft>;

export type RouteName = keyof typeof table;

/** The spec of a route. */
export const routeSpec = (name: RouteName): RouteSpec => ({ name, kind: name, ...table[name] });

/** Fixed segments come before a parameter in the same place: `/v1/signals/counts` before `/v1/signals/{signalId}`. */
const ORDER: readonly RouteName[] = [
  "accountInsight",
  "accounts",
  "account",
  "contacts",
  "contact",
  "signals",
  "signalCounts",
  "signal",
  "companyByInput",
  "company",
  "usage",
  "usageRequests",
  "usageLimits",
  "feedback",
];

/** Every route, in the order in which a path is matched. */
export const ROUTES: readonly RouteSpec[] = ORDER.flatMap((name) =>
  name === "company" ? [routeSpec(name), ...companyLists] : [routeSpec(name)],
);
