// Builds the URL path and query of each request of a run (a page of a list, a record, a part, usage) from the catalog, the list's form and
// the configuration. Pure; it sends nothing.

import { z } from "zod";
import type { ApiCall } from "../../api/outcome.ts";
import { type EndpointName, pathOf, takes } from "../../catalog/endpoints.ts";
import type { FieldSpec } from "../../catalog/fields.ts";
import {
  type EmbedSpec,
  isContent,
  isNamedAlways,
  isStreamName,
  type StreamSpec,
  streamSpec,
  wantedContent,
} from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { filterDate, isoTime, timeMs } from "../../core/time.ts";
import { WORK } from "../../warehouse/record/checkpoint.ts";
import { type ReadRequest, readRequestSchema } from "../list/coverage/read-types.ts";
import { embedsOf, type ListForm } from "../list/form.ts";
import type { ListOrder } from "../list/state.ts";
import { filtersOf } from "../rows/row-scope.ts";

// What the archive keeps beside a response, so that it can be loaded later as when it was received.

export const archivedDetail = z.object({
  /** The read that it answers; null: a single request. */
  read: readRequestSchema.omit({ follows: true }).nullable(),
  /** Whether the pages of its walk share rows; null: it belongs to no walk. */
  overlap: z.boolean().nullable(),
  granted: z.array(z.string()).readonly(),
  /** Heavy fields that are taken from records that come along. */
  along: z.array(z.string()).readonly(),
  /** What it was requested for; null: not known. */
  work: z.enum(WORK).nullable(),
});
export type ArchivedDetail = z.infer<typeof archivedDetail>;

/** Detail of a response that is no page, and of which nothing else is said. */
export const NO_DETAIL: ArchivedDetail = { read: null, overlap: null, granted: [], along: [], work: null };

export interface CallOptions {
  readonly content: readonly string[];
  readonly view: "default" | "export";
  /** Fields that must not be stored (`table.field`); not requested where the service allows a choice. */
  readonly excludeFields?: readonly string[];
  readonly rowScope: RowScope;
  /** Organization whose usage is read; null or unset: that of the token. */
  readonly organizationId?: string | null;
}

const viewed = (endpoint: EndpointName, options: CallOptions): Record<string, string> =>
  options.view !== "default" && takes(endpoint, "view") ? { view: options.view } : {};

const ofOrganization = (endpoint: EndpointName, { organizationId }: CallOptions): Record<string, string> =>
  organizationId && takes(endpoint, "organizationId") ? { organizationId } : {};

const excludes = (options: Pick<CallOptions, "excludeFields">, table: TableName) => {
  const names = new Set(options.excludeFields);
  return (field: { readonly name: string }) => names.has(`${table}.${field.name}`);
};

/** Fields that the default response of a list may lack, and that are named if it does (rows/granted-fields.ts). */
export const namedOnDemand = (
  stream: StreamSpec,
  shape: Pick<ListForm, "content" | "names">,
  options: Pick<CallOptions, "content" | "excludeFields">,
): readonly string[] => {
  const wanted = shape.content ? wantedContent(stream, options.content) : [];
  const isWanted = (field: FieldSpec) => (isContent(field) ? wanted.includes(field) : shape.names);
  return tableSpec(stream.table)
    .fields.filter((field) => field.detailOnly && isWanted(field) && !excludes(options, stream.table)(field))
    .map(({ name }) => name);
};

/** Wanted fields as `onlyWithFields`; empty when the default response suffices. */
const fieldsQuery = (
  endpoint: EndpointName,
  stream: StreamSpec,
  shape: Pick<ListForm, "content" | "names" | "byName" | "unknown">,
  options: CallOptions,
): Record<string, string> => {
  if (!takes(endpoint, "onlyWithFields")) return {};
  const { fields } = tableSpec(stream.table);
  const wanted = shape.content ? wantedContent(stream, options.content) : [];
  const excluded = excludes(options, stream.table);
  const leavesOut = shape.content && fields.some(excluded);
  const named = shape.names ? fields.filter((field) => isNamedAlways(field) && !excluded(field)) : [];
  const isMissing = ({ detailOnly, name }: FieldSpec) => !detailOnly || shape.byName.includes(name);
  if (!leavesOut && ![...wanted, ...named].some(isMissing)) return {};
  const chosen = fields.filter(
    (field) => (isContent(field) ? wanted.includes(field) : shape.names || !isNamedAlways(field)) && !excluded(field),
  );
  const heavy = new Set(fields.filter(isContent).map(({ name }) => name));
  const unknown = (shape.unknown ?? []).filter((name) => !excluded({ name }) && (shape.content || !heavy.has(name)));
  return { onlyWithFields: [...new Set([...chosen.map(({ name }) => name), ...unknown])].join(",") };
};

/** True when a request names light fields that were not configured (`ListShape.names`). */
export const namesLightFields = (stream: StreamSpec, { onlyWithFields = "" }: ApiCall["query"]): boolean => {
  const names = onlyWithFields.split(",");
  return tableSpec(stream.table).fields.some((field) => isNamedAlways(field) && names.includes(field.name));
};

/** True when a request names fields that API.md does not know. */
export const namesUnknownFields = (stream: StreamSpec, { onlyWithFields }: ApiCall["query"]): boolean => {
  const documented = new Set(tableSpec(stream.table).fields.map(({ name }) => name));
  return onlyWithFields?.split(",").some((name) => !documented.has(name)) === true;
};

/** Fields that the configuration requests from a list beyond the default response. */
export const contentNames = (stream: StreamSpec, options: CallOptions): readonly string[] =>
  wantedContent(stream, options.content)
    .filter((field) => !excludes(options, stream.table)(field))
    .map((field) => field.name);

/** `include` with the largest number of each kind of record. */
const includeQuery = (embeds: readonly EmbedSpec[]): Record<string, string> => {
  const limits = embeds.flatMap(({ limit }) =>
    limit === undefined ? [] : [[limit.param, String(limit.most)] as const],
  );
  const names = embeds.map(({ include }) => include).join(",");
  return names === "" ? {} : { include: names, ...Object.fromEntries(limits) };
};

/** What all requests of a list in one shape share. */
const createForm = (stream: StreamSpec, shape: ListForm, options: CallOptions) => {
  const { list, embeds } = stream;
  return {
    stream,
    options,
    /** Parameters before the filters. */
    before: list === undefined ? {} : { ...ofOrganization(list, options), ...includeQuery(embedsOf(stream, shape)) },
    /** Filters of the scope. */
    filters: (shape.filters ? filtersOf(options.rowScope, stream.name) : null) ?? {},
    after: list === undefined ? {} : { ...fieldsQuery(list, stream, shape, options), ...viewed(list, options) },
    /** Fields that are named if the default response lacks them. */
    onDemand: namedOnDemand(stream, shape, options),
    /** Heavy fields that are taken from records that come along. */
    along: embeds.flatMap(({ table }) => (isStreamName(table) ? contentNames(streamSpec(table), options) : [])),
  };
};

/** A run asks a list for each of its pages in the same shape. */
const forms = new WeakMap<ListForm, ReturnType<typeof createForm>>();

export const listForm = (stream: StreamSpec, shape: ListForm, options: CallOptions) => {
  const known = forms.get(shape);
  if (known?.stream === stream && known.options === options) return known;
  const form = createForm(stream, shape, options);
  forms.set(shape, form);
  return form;
};

/** The date filter of the order; of two dates for one filter, the later. */
const dateFilter = (
  stream: StreamSpec,
  order: Extract<ListOrder, { kind: "filter" }>,
  filters: Readonly<Record<string, string>>,
): Record<string, string> => {
  const param = stream.filter?.param ?? stream.since;
  if (param === undefined) return {};
  const own = timeMs(filters[param] ?? "");
  if (own !== null && own > order.after) return {};
  return { [param]: order.exact ? isoTime(order.after) : filterDate(order.after) };
};

/** One page of a stream's list. `scope` is the company id for company lists. */
export const listCall = (
  stream: StreamSpec,
  scope: string,
  read: ReadRequest,
  order: ListOrder,
  shape: ListForm,
  options: CallOptions,
): ApiCall => {
  const endpoint = stream.list;
  if (endpoint === undefined) throw new TypeError(`${stream.name} has no list`);
  const { before, filters, after } = listForm(stream, shape, options);
  const sortBy = order.kind === "changes" ? stream.watermark : stream.walkOrder?.sortBy;
  // A service that refuses one order may know the other.
  const sorts = order.kind === "changes" ? shape.changeOrder : shape.sort;
  return {
    endpoint,
    path: pathOf(endpoint, scope),
    query: {
      page: String(read.page),
      perPage: String(read.perPage),
      ...(sortBy !== undefined && sorts ? { sortBy, sortOrder: "desc" } : {}),
      ...(order.kind === "span" && shape.content
        ? { window: "custom", from: new Date(order.from).toISOString(), to: new Date(order.to).toISOString() }
        : {}),
      ...before,
      ...filters,
      ...(order.kind === "filter" ? dateFilter(stream, order, filters) : {}),
      ...after,
    },
  };
};

/** A page of the list sorted by a date field, newest first: of the rows before a day, or of all (`day` null). */
export const partCall = (
  stream: StreamSpec,
  part: { readonly before: string; readonly field: string; readonly day: string | null },
  page: number,
  shape: ListForm,
  options: CallOptions,
): ApiCall => {
  const call = listCall(stream, "", { page, perPage: shape.perPage, role: "cover" }, { kind: "walk" }, shape, options);
  const sorting = { sortBy: part.field, sortOrder: "desc" };
  return { ...call, query: { ...call.query, ...sorting, ...(part.day === null ? {} : { [part.before]: part.day }) } };
};

export const detailCall = (
  { name, table, detail: endpoint }: StreamSpec,
  id: string,
  options: Pick<CallOptions, "excludeFields">,
): ApiCall => {
  if (endpoint === undefined) throw new TypeError(`${name} has no details`);
  const { fields } = tableSpec(table);
  const kept = fields.filter((field) => !excludes(options, table)(field));
  const query = kept.length === fields.length ? {} : { onlyWithFields: kept.map((field) => field.name).join(",") };
  return { endpoint, path: pathOf(endpoint, id), query };
};

/** False if analyses of earnings calls must not be stored. */
const keepsAnalysis = (options: Pick<CallOptions, "excludeFields">): boolean =>
  !excludes(options, "earnings_calls")({ name: "generatedAnalysis" });

/** A company's profile, by id or by a followed input; the latest earnings call and its analysis come along. */
export const companyCall = (
  target: { readonly kind: "id" | "input"; readonly value: string },
  shape: Pick<ListForm, "include" | "without" | "content" | "names" | "byName" | "unknown">,
  stream: StreamSpec,
  options: CallOptions,
): ApiCall => {
  const endpoint = target.kind === "id" ? "getCompany" : "resolveCompany";
  return {
    endpoint,
    path: pathOf(endpoint, target.value),
    query: {
      ...includeQuery(
        embedsOf(stream, shape).filter(({ include }) => include === "latestEarningsCall" || keepsAnalysis(options)),
      ),
      ...fieldsQuery(endpoint, stream, shape, options),
      ...viewed(endpoint, options),
    },
  };
};

/** Sections of an insight that can be left out; the profile is always returned (API.md, GET /v1/account-insights). */
const SECTIONS = ["summary", "research", "swotAnalysis", "value"].map((name) => ({ name }));

/** The insight of one account, without excluded sections. `along`: records that it brings along. */
export const insightCall = (
  accountId: string,
  options: Pick<CallOptions, "excludeFields">,
  along: readonly EmbedSpec[] = [],
): ApiCall => {
  const excluded = excludes(options, "account_insights");
  const kept = SECTIONS.filter((section) => !excluded(section)).map(({ name }) => name);
  const sections = kept.length === SECTIONS.length ? {} : { sections: ["profile", ...kept].join(",") };
  const query = { accountId, ...sections, ...includeQuery(along) };
  return { endpoint: "getAccountInsight", path: pathOf("getAccountInsight"), query };
};

export const countsCall = (): ApiCall => ({ endpoint: "getSignalCounts", path: pathOf("getSignalCounts"), query: {} });

/** The quota, with a breakdown unless the service refused grouping. */
export const usageCall = (
  shape: Pick<ListForm, "content">,
  groupBy: string | undefined,
  options: CallOptions,
): ApiCall => ({
  endpoint: "getUsage",
  path: pathOf("getUsage"),
  query: {
    ...(shape.content ? { window: "monthly", ...(groupBy === undefined ? {} : { groupBy }) } : {}),
    ...ofOrganization("getUsage", options),
  },
});

export const limitsCall = (options: CallOptions): ApiCall => ({
  endpoint: "getUsageLimits",
  path: pathOf("getUsageLimits"),
  query: ofOrganization("getUsageLimits", options),
});

/** Path and query as sent, without the base address. */
export const urlOf = (call: ApiCall): string => {
  const query = new URLSearchParams(call.query).toString();
  return query === "" ? call.path : `${call.path}?${query}`;
};
