// Converts one response to rows per table (`TableLoad`), which the warehouse then writes. Depends only on request and body, so that a
// replay of the archive gives the same rows. Pure.

import { meansUnlimited } from "../../api/envelope.ts";
import type { EndpointName } from "../../catalog/endpoints.ts";
import { ANALYSIS, type EmbedSpec, type StreamName, streamOfRoute, streamSpec } from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { exactJson, isJsonObject, isUnreadRecord, type JsonObject, type JsonValue } from "../../core/json.ts";
import { timeMs } from "../../core/time.ts";
import type { TableLoad } from "../../warehouse/record/checkpoint.ts";
import { embeddedRecords, grantedFields, withoutContent } from "./granted-fields.ts";
import { accountOf, LOOKUP_SCOPE } from "./lookup-outcome.ts";

// Fields of `usage_snapshots` from the quota of GET /v1/usage. Pure.

/**
 * Without a limit, the service may send -1 or 0 for `limit` and `remaining`. As numbers they would read as a quota that is
 * used up, so both columns stay empty and `_extra` keeps the quota as received.
 */
export const quotaFigures = (quota: JsonObject): JsonObject =>
  meansUnlimited(quota.limit, quota.remaining) ? { ...quota, limit: null, remaining: null, quota } : quota;

/** One answered request, live or from the archive. */
export interface Answer {
  readonly stream: StreamName;
  readonly scope: string;
  readonly endpoint: EndpointName;
  readonly query: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly walkId: string | null;
  /** ms since the epoch. */
  readonly receivedAt: number;
  readonly data: JsonValue;
  readonly included: JsonObject | null;
  readonly envelope: JsonObject;
  /** Optional fields that the list is known to return in the form of this request, named or not. */
  readonly granted: readonly string[];
  /** Heavy fields that are taken from records that come along; unset: none. */
  readonly along?: readonly string[];
}

/** Prefix of a scope that is a followed input instead of a company id. */
export const INPUT_SCOPE = "input:";
/** Prefix of a scope that is the detail of one record. */
export const DETAIL_SCOPE = "detail:";

const NOTHING: ReadonlySet<string> = new Set();

/** Fields whose absence means NULL: those that this kind of request returns whenever they have a value. */
const askedFields = (table: TableName, answer: Answer, records: readonly JsonValue[]): ReadonlySet<string> => {
  const { fields, uncertain } = tableSpec(table);
  const only = answer.query.onlyWithFields?.split(",");
  const isDetail = streamOfRoute(answer.endpoint)?.detail === answer.endpoint;
  const granted = grantedFields(table, records, answer.granted);
  const asked = new Set<string>();
  for (const field of fields) {
    const { name, optIn, detailOnly } = field;
    if (only === undefined ? optIn : !only.includes(name)) continue;
    if (!uncertain.includes(field) || (isDetail && detailOnly) || granted.has(name)) asked.add(name);
  }
  return asked;
};

/** Removes null values of fields that the list does not return (`absent`), because they carry no meaning. */
const withoutEmptyDetails = (records: readonly JsonValue[], absent: readonly string[]): readonly JsonValue[] => {
  if (absent.length === 0) return records;
  return records.map((record) => {
    if (!isJsonObject(record) || !absent.some((name) => record[name] === null)) return record;
    return Object.fromEntries(
      Object.entries(record).filter(([name, value]) => value !== null || !absent.includes(name)),
    );
  });
};

const load = (
  { stream, requestId, receivedAt }: Pick<Answer, "stream" | "requestId" | "receivedAt">,
  table: TableName,
  records: readonly JsonValue[],
  more: Partial<Pick<TableLoad, "asked" | "chosen" | "fromPath" | "walkId" | "knownOnly">> = {},
): TableLoad => ({
  stream,
  table,
  records,
  asked: NOTHING,
  fromPath: {},
  walkId: null,
  requestId,
  receivedAt,
  ...more,
});

const listLoad = (answer: Answer, table: TableName): TableLoad => {
  const { uncertain, fromPath } = tableSpec(table);
  const records = Array.isArray(answer.data) ? answer.data : [answer.data];
  const asked = askedFields(table, answer, records);
  const absent: string[] = [];
  for (const { name } of uncertain) if (!asked.has(name)) absent.push(name);
  return load(answer, table, withoutEmptyDetails(records, absent), {
    asked,
    ...(answer.query.onlyWithFields === undefined ? {} : { chosen: true }),
    walkId: answer.walkId,
    fromPath: fromPath === "companyId" ? { companyId: answer.scope } : {},
  });
};

/**
 * An owner with its id, whatever its shape. An owner without an id stays as received; loading rejects and keeps it.
 */
const ownerRecord = (owner: JsonValue): JsonValue => {
  const id = idOf(owner);
  return id === null ? owner : { id, data: owner };
};

/** An embedded record may be partial, so a null in it means as little as an absent field. */
const withoutNulls = (record: JsonValue): JsonValue =>
  isJsonObject(record) ? Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) : record;

/** The analysis that the service embeds beside a company's latest call; null: there is none, or it is no JSON. */
const analysisIn = ({ included }: Answer): JsonValue => {
  const analysis = included?.[ANALYSIS] ?? null;
  return isUnreadRecord(analysis) ? null : analysis;
};

/** The latest call with its analysis. A call that holds one keeps it; the other is kept beside it. */
const withAnalysis = (call: JsonValue, analysis: JsonValue): JsonValue => {
  if (analysis === null || !isJsonObject(call)) return call;
  const { generatedAnalysis: own = null } = call;
  if (own === null) return { ...call, generatedAnalysis: analysis };
  return exactJson(own) === exactJson(analysis) ? call : { ...call, [ANALYSIS]: analysis };
};

const callLoad = (answer: Answer, table: TableName, found: readonly JsonValue[]): TableLoad => {
  const calls = found.map(withoutNulls);
  const [call = null] = calls;
  const records = calls.length === 1 ? [withAnalysis(call, analysisIn(answer))] : calls;
  const companyId = isJsonObject(answer.data) ? answer.data.id : undefined;
  return load(answer, table, records, companyId === undefined ? {} : { fromPath: { companyId } });
};

/**
 * The company with an analysis that belongs to no embedded call. Beside data that is no company, it is a record of its
 * own, which loading rejects and keeps.
 */
const withLooseAnalysis = (answer: Answer): Answer => {
  const analysis = analysisIn(answer);
  const isTaken = streamSpec("companies").embeds.some((embed) => {
    const [record, ...more] = embed.include === ANALYSIS ? [] : embeddedRecords(answer.included, embed);
    return more.length === 0 && isJsonObject(record ?? null);
  });
  if (analysis === null || isTaken) return answer;
  if (isJsonObject(answer.data)) return { ...answer, data: { ...answer.data, [ANALYSIS]: analysis } };
  const records = Array.isArray(answer.data) ? answer.data : [answer.data];
  return { ...answer, data: [...records, { [ANALYSIS]: analysis }] };
};

/** The load of one kind of embedded records; null: none came along, or they are part of another one. */
const embedLoad = (answer: Answer, embed: EmbedSpec): TableLoad | null => {
  const records = embeddedRecords(answer.included, embed);
  // An analysis is part of its call. One that is no JSON is a record of its own, which loading rejects and keeps.
  const found = embed.include === ANALYSIS ? records.filter(isUnreadRecord) : records;
  if (found.length === 0) return null;
  switch (embed.table) {
    case "earnings_calls":
      return callLoad(answer, embed.table, found);
    case "owners":
      return load(answer, "owners", found.map(ownerRecord), { asked: new Set(["data"]) });
    case "companies":
      return load(answer, "companies", found);
    default: {
      const parts = found.map((record) => withoutContent(withoutNulls(record), embed.table, answer.along));
      return load(answer, embed.table, parts, { knownOnly: true });
    }
  }
};

/** The load of an answer's own records, with those of the records that came along. */
const withEmbeds = (own: TableLoad, answer: Answer): readonly TableLoad[] => {
  const loads = [own];
  for (const embed of streamSpec(answer.stream).embeds) {
    const embedded = embedLoad(answer, embed);
    if (embedded !== null) loads.push(embedded);
  }
  return loads;
};

/** Captures are keyed by time of receipt, so a service with a stopped clock does not overwrite its own past. */
const at = (answer: Answer): string => new Date(answer.receivedAt).toISOString();

/** `data` that should be an object and is not: passed on unchanged, so that loading rejects and keeps it. */
const misshapen = (answer: Answer, table: TableName): readonly TableLoad[] => {
  if (answer.data === null) return [];
  return [load(answer, table, Array.isArray(answer.data) ? answer.data : [answer.data])];
};

/** Members of several objects as one record; a member whose name is taken is stored as `part.name`. */
const merged = (own: JsonObject, parts: Readonly<Record<string, JsonObject>>): JsonObject => {
  const names = new Map<string, JsonValue>(Object.entries(own));
  for (const [part, members] of Object.entries(parts)) {
    for (const [name, value] of Object.entries(members)) names.set(names.has(name) ? `${part}.${name}` : name, value);
  }
  return Object.fromEntries(names);
};

/** Members of a response member that should be an object; a value that is none is returned under its name. */
const membersOf = (name: string, value: JsonValue | undefined): JsonObject => {
  if (value === undefined) return {};
  return isJsonObject(value) ? value : { [name]: value };
};

const countLoads = (answer: Answer): readonly TableLoad[] => {
  if (!isJsonObject(answer.data)) return misshapen(answer, "signal_counts");
  const capturedAt = at(answer);
  const records = Object.entries(answer.data).map(([type, count]) => ({ capturedAt, type, count }));
  return [load(answer, "signal_counts", records)];
};

const insightLoads = (answer: Answer): readonly TableLoad[] => {
  const isLookup = answer.scope.startsWith(LOOKUP_SCOPE);
  // A lookup that found several accounts, or none, is the insight of no account.
  if (isLookup && accountOf(answer.data) === null) return [];
  const sections = answer.data === null ? {} : membersOf("data", answer.data);
  // The scope is the account's id as text; as text it would count as a field with a changed type.
  const named = /^\d+$/.test(answer.scope) ? BigInt(answer.scope) : answer.scope;
  const accountId = isLookup ? accountOf(answer.data) : named;
  const record = merged({ accountId, status: answer.envelope.status ?? null }, { data: sections });
  const { fields } = tableSpec("account_insights");
  const asked = new Set(fields.map((field) => field.name));
  return withEmbeds(load(answer, "account_insights", [record], { asked }), answer);
};

const usageLoads = (answer: Answer): readonly TableLoad[] => {
  if (!isJsonObject(answer.data)) return misshapen(answer, "usage_snapshots");
  const capturedAt = at(answer);
  const { quota, totals, breakdown, ...window } = answer.data;
  const snapshot = merged(
    { capturedAt, source: "usage" },
    {
      quota: quotaFigures(membersOf("quota", quota)),
      totals: membersOf("totals", totals),
      data: window,
      breakdown: Array.isArray(breakdown) ? {} : membersOf("breakdown", breakdown),
    },
  );
  const own = { capturedAt, groupBy: answer.query.groupBy ?? "endpoint" };
  const groups = (Array.isArray(breakdown) ? breakdown : []).map((group: JsonValue) =>
    isJsonObject(group) ? merged(own, { breakdown: group }) : group,
  );
  return [load(answer, "usage_snapshots", [snapshot]), load(answer, "usage_breakdown", groups)];
};

type InputAnswer = Pick<Answer, "scope" | "requestId" | "receivedAt">;

/** What a followed input resolved to. */
const inputLoad = (
  { scope, requestId, receivedAt }: InputAnswer,
  companyId: JsonValue,
  status: "found" | "not_found",
): TableLoad => {
  const resolvedAt = new Date(receivedAt).toISOString();
  const record = { input: scope.slice(INPUT_SCOPE.length), companyId, status, resolvedAt };
  const about = { stream: "companies", requestId, receivedAt } as const;
  return load(about, "company_inputs", [record], { asked: new Set(["companyId"]) });
};

const companyLoads = (answer: Answer): readonly TableLoad[] => {
  const loads = withEmbeds(listLoad(withLooseAnalysis(answer), "companies"), answer);
  if (!answer.scope.startsWith(INPUT_SCOPE) || !isJsonObject(answer.data)) return loads;
  return [...loads, inputLoad(answer, answer.data.id ?? null, "found")];
};

/** Every row load of one answered request. An empty `data` loads nothing. */
export const loadsOf = (answer: Answer): readonly TableLoad[] => {
  switch (answer.endpoint) {
    case "getSignalCounts":
      return countLoads(answer);
    case "resolveCompany":
    case "getCompany":
      return companyLoads(answer);
    case "getAccountInsight":
      return insightLoads(answer);
    case "getUsage":
      return usageLoads(answer);
    case "getUsageLimits":
      return [load(answer, "usage_limits", [{ capturedAt: at(answer), data: answer.data }])];
    default: {
      const stream = streamOfRoute(answer.endpoint);
      return stream === null ? [] : withEmbeds(listLoad(answer, stream.table), answer);
    }
  }
};

/** An input unknown to the service. It is stored, so that not every sync requests it again. */
export const unknownInputLoad = (answer: InputAnswer): TableLoad => inputLoad(answer, null, "not_found");

/** Id of a record as text; null when it has no usable id. */
export const idOf = (record: JsonValue): string | null => {
  if (!isJsonObject(record)) return null;
  const id = record.id;
  return typeof id === "string" || typeof id === "number" || typeof id === "bigint" ? String(id) : null;
};

/** Value of a time field, ms since the epoch; null when absent or not a time. */
export const timeOf = (record: JsonValue, field: string): number | null => {
  if (!isJsonObject(record)) return null;
  const value = record[field];
  return typeof value === "string" ? timeMs(value) : null;
};
