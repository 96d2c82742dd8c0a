// THE table of streams: one entry per mirrored API resource, from which requests, plans, loads, verification and exports
// follow. A new list of companies needs an entry here, its table (tables.ts) with its fields (resources.ts), and a migration;
// test/src/catalog/made-up-stream.test.ts adds one.

import { companyListRoute, ENDPOINTS, type EndpointName, type RouteSpec } from "./endpoints.ts";
import type { FieldSpec } from "./fields.ts";
import { type CompanyTable, type TableName, tableSpec } from "./tables.ts";

const DAY_MS = 86_400_000;

/** Scope of one walk: the organization's list, one list per company, or one record per account. */
export type ScopeKind = "organization" | "company" | "account";

/** Name of the one embedding that is a part of a record: the analysis of a company's latest call. */
export const ANALYSIS = "latestEarningsCallAnalysis";

/** A related record the service can embed in a response (`include=`). */
export interface EmbedSpec {
  /** Value of `include` in the request. */
  readonly include: string;
  /** Possible keys under `included` (shape not shown in API.md). */
  readonly keys: readonly string[];
  readonly table: TableName;
  /** Field of the parent record that holds the embedded record's id. */
  readonly parentField?: string;
  /** Parameter for the number of embedded records, and its documented maximum. */
  readonly limit?: { readonly param: string; readonly most: number };
}

export interface StreamSpec {
  readonly name: StreamName;
  readonly table: TableName;
  readonly tier: "full" | "public";
  readonly scope: ScopeKind;
  /** Way of refreshing the stream after its first walk (docs/ARCHITECTURE.md, "How a list is read"). */
  readonly strategy: "watermark" | "filter" | "known" | "on-change" | "capture" | "log";
  /** Query parameters for the order of a walk; absent where the route cannot sort. */
  readonly walkOrder?: { readonly sortBy: string /** Newer rows have larger ids. */; readonly grows: boolean };
  /** Field whose descending order shows the latest changes. */
  readonly watermark?: string;
  /** Date filter that returns changes after a date. */
  readonly filter?: { readonly param: string; readonly field: string };
  /**
   * Date filters that cut the list in parts, for a search for gone rows: parameter for rows before a date, and the field by
   * which such a part is sorted. The first that the service honours is used.
   */
  readonly parts?: readonly { readonly before: string; readonly field: string }[];
  /** Date filter for `sync --since`. */
  readonly since?: string;
  readonly embeds: readonly EmbedSpec[];
  /** Signal types that announce a change in this stream. */
  readonly hints: readonly string[];
  /** Age after which the mirrored copy is refreshed even without another reason, in ms. */
  readonly maxAgeMs: number;
  /** Worth of a credit spent on it, before anything is added (sync/plan/worth.ts). */
  readonly worth: number;
  /** Route that returns the stream page by page; absent where one request returns all of a scope. */
  readonly list?: EndpointName;
  /** Route of such a request. */
  readonly record?: EndpointName;
  /** Route that returns one record by its id, where one exists. */
  readonly detail?: EndpointName;
  /**
   * Changes that the short read cannot see, so that a row is only as fresh as the last complete walk. One sentence.
   */
  readonly blindSpot: string;
}

type Entry = Omit<StreamSpec, "name" | "embeds" | "hints"> & Partial<Pick<StreamSpec, "embeds" | "hints">>;

/**
 * A list that every company has, of the table of the same name. The rarer it changes, the less a check of it is worth.
 */
const companyList = (
  name: CompanyTable,
  plural: string,
  more: Pick<Entry, "maxAgeMs" | "worth"> & { readonly hints: readonly string[] },
) => ({
  table: name,
  list: companyListRoute(name).name,
  tier: "public" as const,
  scope: "company" as const,
  strategy: "known" as const,
  blindSpot: `A company's list is read when signals hint at it or by age; edits to known ${plural} are seen by complete walks.`,
  ...more,
});

const entries = {
  accounts: {
    table: "accounts",
    tier: "full",
    scope: "organization",
    strategy: "watermark",
    walkOrder: { sortBy: "id", grows: true },
    watermark: "updatedAt",
    embeds: [
      { include: "company", keys: ["company", "companies"], table: "companies", parentField: "companyId" },
      { include: "owner", keys: ["owner", "owners"], table: "owners", parentField: "ownerId" },
    ],
    maxAgeMs: 7 * DAY_MS,
    // Hundreds of rows per credit, and all other work follows from them.
    worth: 1000,
    list: "listAccounts",
    detail: "getAccount",
    blindSpot: "Changes that leave updatedAt alone are seen by the next complete walk.",
  },
  contacts: {
    table: "contacts",
    tier: "full",
    scope: "organization",
    strategy: "filter",
    walkOrder: { sortBy: "id", grows: false },
    watermark: "lastChangeDetectedOn",
    filter: { param: "lastChangeDetectedAfter", field: "lastChangeDetectedOn" },
    since: "lastChangeDetectedAfter",
    parts: [
      { before: "isInCurrentRoleBeforeDate", field: "inCurrentRoleSince" },
      { before: "lastChangeDetectedBefore", field: "lastChangeDetectedOn" },
    ],
    maxAgeMs: 7 * DAY_MS,
    worth: 900,
    list: "listContacts",
    detail: "getContact",
    blindSpot: "Fields without a change date, such as email or phone, are only as fresh as the last complete walk.",
  },
  signals: {
    table: "signals",
    tier: "full",
    scope: "organization",
    strategy: "watermark",
    walkOrder: { sortBy: "id", grows: true },
    watermark: "updatedAt",
    since: "afterDate",
    parts: [{ before: "beforeDate", field: "date" }],
    maxAgeMs: 7 * DAY_MS,
    worth: 800,
    list: "listSignals",
    detail: "getSignal",
    blindSpot: "Changes that leave updatedAt alone are seen by the next complete walk.",
  },
  signal_counts: {
    table: "signal_counts",
    tier: "full",
    scope: "organization",
    strategy: "capture",
    maxAgeMs: DAY_MS,
    // One cheap reading.
    worth: 300,
    record: "getSignalCounts",
    blindSpot: "A reading is as old as it says.",
  },
  companies: {
    table: "companies",
    tier: "public",
    scope: "company",
    strategy: "on-change",
    embeds: [
      { include: "latestEarningsCall", keys: ["latestEarningsCall"], table: "earnings_calls" },
      { include: ANALYSIS, keys: [ANALYSIS], table: "earnings_calls" },
    ],
    maxAgeMs: 30 * DAY_MS,
    worth: 200,
    record: "getCompany",
    blindSpot: "Profiles of tracked companies are as fresh as their accounts; others are fetched again by age.",
  },
  news_articles: companyList("news_articles", "articles", {
    hints: ["relevant-news", "press-release", "m-and-a-alert", "funding-alert"],
    maxAgeMs: 7 * DAY_MS,
    worth: 100,
  }),
  job_openings: companyList("job_openings", "openings", {
    hints: ["hiring-alert", "hiring-alert-closed"],
    maxAgeMs: 7 * DAY_MS,
    worth: 90,
  }),
  earnings_calls: companyList("earnings_calls", "calls", {
    hints: ["earnings-call"],
    maxAgeMs: 30 * DAY_MS,
    worth: 80,
  }),
  filings: companyList("filings", "filings", { hints: ["filing-alert"], maxAgeMs: 30 * DAY_MS, worth: 70 }),
  account_insights: {
    table: "account_insights",
    tier: "full",
    scope: "account",
    strategy: "on-change",
    embeds: [
      {
        include: "contacts",
        keys: ["contacts", "contact"],
        table: "contacts",
        limit: { param: "contactsLimit", most: 100 },
      },
      {
        include: "signals",
        keys: ["signals", "signal"],
        table: "signals",
        limit: { param: "signalsLimit", most: 100 },
      },
    ],
    maxAgeMs: 30 * DAY_MS,
    // One record per credit.
    worth: 60,
    record: "getAccountInsight",
    blindSpot: "Fetched again when the account changes or by age.",
  },
  usage: {
    table: "usage_requests",
    list: "listUsageRequests",
    tier: "public",
    scope: "organization",
    strategy: "log",
    maxAgeMs: DAY_MS,
    // Last, so that it counts the other requests.
    worth: 10,
    record: "getUsage",
    blindSpot: "Read by age; figures of other responses are recorded at no cost.",
  },
} as const satisfies Record<string, Entry>;

export type StreamName = keyof typeof entries;

export const STREAM_NAMES: readonly StreamName[] = Object.keys(entries) as readonly StreamName[];

/** Specs that were asked for. A sync asks for the same ones several times per request. */
const made = new Map<StreamName, StreamSpec>();

export const streamSpec = (name: StreamName): StreamSpec => {
  const known = made.get(name);
  if (known !== undefined) return known;
  const spec: StreamSpec = { name, embeds: [], hints: [], ...entries[name] };
  made.set(name, spec);
  return spec;
};

/** Route that returns the stream: as pages, or all of a scope at once. */
export const routeOf = ({ name, record, list }: StreamSpec): RouteSpec => {
  const endpoint = record ?? list;
  if (endpoint === undefined) throw new TypeError(`${name} has no route`);
  return ENDPOINTS[endpoint];
};

/** Lists of the organization whose every row is mirrored and kept. */
export const ORGANIZATION_LISTS: readonly StreamName[] = STREAM_NAMES.filter((name) => {
  const { scope, list, strategy } = streamSpec(name);
  return scope === "organization" && list !== undefined && strategy !== "log";
});

/** Lists that every followed company has. */
export const COMPANY_LISTS: readonly StreamName[] = STREAM_NAMES.filter((name) => {
  const { scope, list } = streamSpec(name);
  return scope === "company" && list !== undefined;
});

const OF_ROUTES: ReadonlyMap<EndpointName, StreamSpec> = new Map(
  STREAM_NAMES.flatMap((name) => {
    const spec = streamSpec(name);
    return [spec.list, spec.detail].flatMap((route) => (route === undefined ? [] : [[route, spec] as const]));
  }),
);

/** The stream whose records a route returns, as pages or one by one; null for the routes of no list. */
export const streamOfRoute = (route: EndpointName): StreamSpec | null => OF_ROUTES.get(route) ?? null;

/** Streams of the request ledger: feedback is sent for no stream. */
export type LedgerStream = StreamName | "feedback";

/** True when the text names a stream of the request ledger. */
export const isLedgerStream = (name: string): name is LedgerStream => name === "feedback" || isStreamName(name);

export const isStreamName = (name: string): name is StreamName => Object.hasOwn(entries, name);

/** True for heavy fields, which are requested only where the configuration names them. */
export const isContent = (field: FieldSpec): boolean =>
  field.optIn || (field.detailOnly && field.name === "fullContent");

/** Heavy fields of a stream that are configured. */
export const wantedContent = (stream: StreamSpec, content: readonly string[]): readonly FieldSpec[] =>
  tableSpec(stream.table).fields.filter(
    (field) => isContent(field) && (content.includes(field.name) || content.includes(`${stream.name}.${field.name}`)),
  );

/** True when `onlyWithFields` of a request of this stream names heavy fields. */
export const namesContent = (name: LedgerStream, onlyWithFields: string | undefined): boolean => {
  if (name === "feedback" || onlyWithFields === undefined) return false;
  const names = onlyWithFields.split(",");
  return tableSpec(streamSpec(name).table).fields.some((field) => isContent(field) && names.includes(field.name));
};

/** Light fields that a response may lack unless named; naming them is free, so they are always named. */
export const isNamedAlways = (field: FieldSpec): boolean => (field.detailOnly || field.namedOnly) && !isContent(field);

/** The streams, with those that their companies or accounts come from. Unknown names stay. */
export const withParents = (names: readonly string[]): readonly string[] => {
  const scopes = names.filter(isStreamName).map((name) => streamSpec(name).scope);
  const parents = scopes.some((scope) => scope === "company" || scope === "account") ? ["accounts"] : [];
  return [...new Set([...parents, ...names])];
};
