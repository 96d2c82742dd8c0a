// Redaction: removes values that must never be stored from an envelope, before other code sees it: excluded fields,
// fields stored as hashes, erased contacts. Pure. An envelope without such values is returned as the same object.

import { ENDPOINTS, type EndpointName } from "../catalog/endpoints.ts";
import type { FieldPath } from "../catalog/field-rules.ts";
import { ANALYSIS } from "../catalog/streams.ts";
import type { TableName } from "../catalog/tables.ts";
import { forgottenId, forgottenRecord, mapTexts } from "../core/forgotten.ts";
import { exactJson, isJsonObject, isUnreadRecord, type JsonObject, type JsonValue } from "../core/json.ts";
import type { ApiOutcome } from "./outcome.ts";

export interface Redaction {
  readonly exclude: readonly FieldPath[];
  readonly hash: readonly FieldPath[];
  /** Keyed hash of a text, in hex. */
  readonly hashOf: (text: string) => string;
  /** Keyed hash of a contact's id if that contact was erased, else null. */
  readonly forgotten: (id: string) => string | null;
}

export type Redactor = (envelope: JsonObject, endpoint: EndpointName) => JsonObject;

/** Members of `included`, in any response (API.md does not show shapes). */
const INCLUDED: Readonly<Record<string, TableName>> = {
  account: "accounts",
  accounts: "accounts",
  company: "companies",
  companies: "companies",
  contact: "contacts",
  contacts: "contacts",
  latestEarningsCall: "earnings_calls",
  latestEarningsCalls: "earnings_calls",
  owner: "owners",
  owners: "owners",
  signal: "signals",
  signals: "signals",
};

/** In place of a record that cannot be read, and so not be redacted. */
const UNREADABLE = "a record that is no JSON; not kept, because its values cannot be redacted";

/** Form of a hash, so that a hashed value is not hashed again. */
const HASHED = /^hmac-sha256:[0-9a-f]{64}$/;

type Change = (value: JsonValue) => JsonValue | undefined;

/** The list with its items changed; the same list where none is. */
const changeItems = (list: JsonValue[], change: (item: JsonValue) => JsonValue): JsonValue[] => {
  const items = list.map(change);
  return items.some((item, index) => item !== list[index]) ? items : list;
};

/** The value with the part at `path` changed, in every item of a list; undefined removes the member. */
const changeAt = (value: JsonValue, path: readonly string[], change: Change): JsonValue => {
  if (Array.isArray(value)) return changeItems(value, (item) => changeAt(item, path, change));
  const [name, ...rest] = path;
  if (!isJsonObject(value) || name === undefined) return value;
  const before = value[name];
  if (before === undefined) return value;
  const after = rest.length === 0 ? change(before) : changeAt(before, rest, change);
  if (after === before) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    after === undefined
      ? entries.filter(([other]) => other !== name)
      : entries.map(([other, item]) => [other, other === name ? after : item]),
  );
};

const hashedBy = (hashOf: Redaction["hashOf"]) => {
  const hashed = (value: JsonValue): JsonValue => {
    if (value === null) return null;
    if (Array.isArray(value)) return changeItems(value, hashed);
    const text = typeof value === "string" ? value : exactJson(value);
    return HASHED.test(text) ? text : `hmac-sha256:${hashOf(text)}`;
  };
  return hashed;
};

const idOf = (record: JsonObject): string | null => {
  const { id } = record;
  return typeof id === "string" || typeof id === "number" || typeof id === "bigint" ? String(id) : null;
};

/** True when `included` holds records by id instead of a record. */
const isMap = (value: JsonValue): value is JsonObject =>
  isJsonObject(value) && (value.id === undefined || value.id === null);

const onlyId = (value: JsonValue): JsonValue => {
  if (!isJsonObject(value)) return value;
  return value.id === undefined ? {} : { id: value.id };
};

type Rules = Redaction & { readonly anyForgotten: boolean };

/** The text without ids of erased contacts, found in paths and parameters of the service's request log. */
const unnamedBy =
  (forgotten: Redaction["forgotten"]) =>
  (text: string): string => {
    const whole = forgotten(text);
    if (whole !== null) return forgottenId(whole);
    return text.replace(/(?<=\/contacts\/)[^/?#\s"']+/g, (segment) => {
      let id = segment;
      try {
        id = decodeURIComponent(segment);
      } catch {
        // Not an encoded path: keep the segment unchanged.
      }
      const known = forgotten(id);
      return known === null ? segment : forgottenId(known);
    });
  };

/** One record of a table; `key`: its id where it is a member of a map. Other values stay as they are. */
type RecordRedactor = (value: JsonValue, table: TableName, key?: string | null) => JsonValue;

const recordRedactor = ({ exclude, hash, hashOf, forgotten, anyForgotten }: Rules): RecordRedactor => {
  const hashed = hashedBy(hashOf);
  const unnamed = unnamedBy(forgotten);
  return (value, table, key = null) => {
    // It may hold any value.
    if (isUnreadRecord(value)) return UNREADABLE;
    if (!isJsonObject(value)) return value;
    if (table === "contacts") {
      const id = idOf(value) ?? key;
      const known = id === null ? null : forgotten(id);
      if (known !== null) return forgottenRecord(known);
    }
    let clean: JsonValue = table === "usage_requests" && anyForgotten ? mapTexts(value, unnamed) : value;
    for (const { path } of exclude.filter((rule) => rule.table === table)) {
      // Only an owner's id is known; everything else is `data`.
      if (table === "owners" && path[0] === "data" && path.length === 1) clean = onlyId(clean);
      else clean = changeAt(clean, table === "owners" && path[0] === "data" ? path.slice(1) : path, () => undefined);
    }
    for (const { path } of hash.filter((rule) => rule.table === table)) clean = changeAt(clean, path, hashed);
    return clean;
  };
};

/** Members of `included`: records, lists of them, maps by id, and the analysis of a call. */
const memberRedactor = (record: RecordRedactor, forgotten: Redaction["forgotten"]) => {
  const embedded = (value: JsonValue, table: TableName): JsonValue => {
    if (!isMap(value)) return records(value, table, record);
    const entries = Object.entries(value).map(([key, item]) => {
      const known = table === "contacts" ? forgotten(key) : null;
      return [known === null ? key : forgottenId(known), record(item, table, key)] as const;
    });
    return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
  };
  /** The analysis of a company's latest call, which is embedded outside its call. One that is excluded or no JSON is null. */
  const analysis = (value: JsonValue): JsonValue => {
    if (isUnreadRecord(value)) return null;
    const call = { generatedAnalysis: value };
    const clean = record(call, "earnings_calls");
    return clean === call ? value : isJsonObject(clean) ? (clean.generatedAnalysis ?? null) : null;
  };
  return (name: string, value: JsonValue): JsonValue => {
    if (name === ANALYSIS) return analysis(value);
    const table = Object.hasOwn(INCLUDED, name) ? INCLUDED[name] : undefined;
    return table === undefined ? value : embedded(value, table);
  };
};

const records = (value: JsonValue, table: TableName, record: RecordRedactor): JsonValue => {
  return Array.isArray(value) ? changeItems(value, (item) => record(item, table)) : record(value, table);
};

/** A redactor; null when there is nothing to redact. */
export const createRedactor = (rules: Rules): Redactor | null => {
  if (rules.exclude.length === 0 && rules.hash.length === 0 && !rules.anyForgotten) return null;
  const record = recordRedactor(rules);
  const member = memberRedactor(record, rules.forgotten);
  return (envelope, endpoint) => {
    const { table } = ENDPOINTS[endpoint];
    const { data, included } = envelope;
    const members: Record<string, JsonValue> = {};
    if (data !== undefined && table !== null) members.data = records(data, table, record);
    if (isJsonObject(included)) {
      const parts = Object.entries(included).map(([name, value]) => [name, member(name, value)] as const);
      members.included = parts.some(([name, value]) => value !== included[name]) ? Object.fromEntries(parts) : included;
    }
    const changed = Object.entries(members).some(([name, value]) => value !== envelope[name]);
    return changed ? { ...envelope, ...members } : envelope;
  };
};

/**
 * The outcome without redacted values, also for the archive: the body is rewritten. A body that cannot be parsed
 * cannot be redacted, so it is not kept.
 */
export const redactOutcome = <T extends ApiOutcome>(outcome: T, redact: Redactor | null): T | ApiOutcome => {
  if (redact === null) return outcome;
  if (outcome.kind === "invalid") return { ...outcome, wire: null };
  if (outcome.kind !== "ok") return outcome;
  const envelope = redact(outcome.envelope, outcome.call.endpoint);
  if (envelope === outcome.envelope) return outcome;
  return {
    ...outcome,
    envelope,
    data: envelope.data ?? null,
    included: isJsonObject(envelope.included) ? envelope.included : null,
    wire: { bytes: Buffer.from(exactJson(envelope)), encoding: "identity" },
  };
};
