// Converts one received record to column values, `_extra` and drift (how it differs from API.md), or to a reject with a reason.
// Pure. Invariant I6: every received value ends in a column, in `_extra` or in `sync.rejects`.
import type { FieldSpec } from "../../catalog/fields.ts";
import { perTable, type TableName, tableSpec } from "../../catalog/tables.ts";
import { EVERY_TABLE, type Strictness } from "../../core/config/field-settings.ts";
import { forgottenHash } from "../../core/forgotten.ts";
import { exactJson, isJsonObject, isUnreadRecord, type JsonObject, type JsonValue, storable } from "../../core/json.ts";
import type { TableLoad } from "./checkpoint.ts";
import { type Cell, convertCell, type IdRole, isBeyondBigint, jsonTypeOf } from "./convert-cell.ts";
import { type ExtraEntries, extraText } from "./json-text.ts";

// Misfits of strict tables: records that a table does not take as they are. Pure. The configuration sets how strict a
// table is; `evolve` takes every record.

export type TableStrictness = (table: TableName) => Strictness;

export const tableStrictness =
  (settings: Readonly<Record<string, Strictness>>): TableStrictness =>
  (table) =>
    settings[table] ?? settings[EVERY_TABLE] ?? "evolve";

/** Every table takes every record. */
export const EVOLVING: TableStrictness = () => "evolve";

/** Most fields named in one message. */
const MOST_NAMED = 5;

/**
 * Reason why a record does not fit its table: a field without a column, or a value that its column cannot hold; null
 * when it fits. New values of an enumeration fit, and so do times finer than a microsecond.
 */
export const misfitOf = ({ extra, cut }: NormalRow): string | null => {
  const names = [...extra.keys()].filter((name) => !cut.includes(name));
  if (names.length === 0) return null;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `no column holds ${names.slice(0, MOST_NAMED).join(", ")}${more}`;
};

/** Why records of a load become no rows of a table that is as strict as this, in their order. */
export const lossesOf = (load: TableLoad, strictness: Strictness): readonly string[] => {
  const normalize = createNormalizer(load.table, load);
  return load.records.flatMap((record) => {
    if (forgottenHash(record) !== null) return [];
    const row = normalize(record);
    const loss = row.kind === "reject" ? row.reason : strictness === "evolve" ? null : misfitOf(row);
    return loss === null ? [] : [loss];
  });
};

/** The first record of a response that does not fit a frozen table; null when all fit. */
export const frozenMisfit = (
  loads: readonly TableLoad[],
  strictness: TableStrictness,
): { readonly table: TableName; readonly detail: string } | null => {
  for (const load of loads) {
    if (strictness(load.table) !== "freeze") continue;
    const [detail] = lossesOf(load, "freeze");
    if (detail !== undefined) return { table: load.table, detail };
  }
  return null;
};

/** A difference between a record and API.md: one row of `sync.schema_drift`. */
export interface Drift {
  readonly field: string;
  readonly kind: "unknown_field" | "other_type" | "new_value" | "missing_field";
  /** The JSON type or the value seen. */
  readonly detail: string;
}

export interface NormalRow {
  readonly kind: "row";
  /** Key of the row as one text, distinct for distinct keys. */
  readonly keyText: string;
  /** One per field of the table, in order. */
  readonly cells: readonly Cell[];
  /** Bit i set: field i was neither present nor requested, so the stored value stays. */
  readonly kept: bigint;
  /** The request covered every field of a default response, so unknown fields in the stored `_extra` are replaced. */
  readonly full: boolean;
  readonly extra: ExtraEntries;
  /** Names in `extra` of times that their column holds to the microsecond. */
  readonly cut: readonly string[];
  readonly drift: readonly Drift[];
}

export interface Reject {
  readonly kind: "reject";
  readonly reason: string;
  /** The whole record as exact JSON text. */
  readonly record: string;
}

export interface RecordContext {
  readonly asked: ReadonlySet<string>;
  readonly fromPath: Readonly<Record<string, JsonValue>>;
  readonly chosen?: boolean;
}

/** A value as readable text. Not `String(value)`, which calls a `toString` member of the service's object. */
const plainText = (value: JsonValue): string => (typeof value === "string" ? value : exactJson(value));

const DETAIL_CHARS = 200;
const NO_EXTRA: ExtraEntries = new Map();
const NO_DRIFT: readonly Drift[] = [];
const NO_CUT: readonly string[] = [];
/** Digits beyond the microsecond. */
const FINER = /[.,]\d{7}/;

interface KnownField {
  readonly index: number;
  readonly field: FieldSpec;
  readonly role: IdRole;
  /** Its bit in `NormalRow.kept`. */
  readonly bit: bigint;
  readonly allowed: ReadonlySet<unknown> | null;
}

/** What all records of one table share: the fields in order, and by their API names. */
const fieldsOf = perTable((table) => {
  const spec = tableSpec(table);
  const fields = spec.fields.map(
    (field, index): KnownField => ({
      index,
      field,
      role: spec.key.includes(field.column) ? "key" : field.isReference ? "reference" : "none",
      bit: 1n << BigInt(index),
      allowed: field.allowed === undefined ? null : new Set<unknown>(field.allowed),
    }),
  );
  const known: ReadonlyMap<string, KnownField> = new Map(fields.map((field) => [field.field.name, field]));
  const keyFields = spec.key.flatMap((column) => fields.filter(({ field }) => field.column === column));
  return { fields, known, keyFields, ownPath: spec.fromPath };
});
type TableFields = ReturnType<typeof fieldsOf>;

/** What all records of one load share. */
interface RecordPlan extends TableFields {
  /** By index of the field: the request asked for it. */
  readonly isAsked: readonly boolean[];
  readonly pathValues: readonly (readonly [name: string, value: JsonValue])[];
  readonly full: boolean;
  /** Bits of the fields that the request did not ask for. */
  readonly notAsked: bigint;
}

/** One record while it is read. */
interface Reading {
  /** 1: the record has the field of this index. */
  readonly present: Uint8Array;
  readonly cells: Cell[];
  extra: Map<string, string> | null;
  drift: Drift[] | null;
  cut: string[] | null;
}

const planRecords = (table: TableName, { asked, fromPath, chosen = false }: RecordContext): RecordPlan => {
  const own = fieldsOf(table);
  const isAsked: boolean[] = [];
  let full = !chosen;
  let notAsked = 0n;
  for (const { field, bit } of own.fields) {
    const wanted = asked.has(field.name);
    isAsked.push(wanted);
    if (wanted) continue;
    notAsked |= bit;
    const isDefault = !(field.optIn || field.detailOnly || field.namedOnly);
    if (isDefault && !Object.hasOwn(fromPath, field.name)) full = false;
  }
  return { ...own, isAsked, pathValues: Object.entries(fromPath), full, notAsked };
};

const keep = (reading: Reading, name: string, value: JsonValue): void => {
  reading.extra ??= new Map();
  // A name that UTF-8 cannot hold is kept in its escaped form beside the value.
  if (name.isWellFormed()) reading.extra.set(name, extraText(value));
  else reading.extra.set(storable(name), extraText({ $json: exactJson({ [name]: value }) }));
};

const note = (reading: Reading, field: string, kind: Drift["kind"], detail: string): void => {
  reading.drift ??= [];
  reading.drift.push({ field: storable(field), kind, detail: storable(detail).slice(0, DETAIL_CHARS) });
};

/** Puts a value into the cell of its field; what the column cannot hold exactly goes to `_extra` as well. */
const readField = (reading: Reading, { index, field, role, allowed }: KnownField, value: JsonValue): void => {
  reading.present[index] = 1;
  if (value === null) return;
  const { cell, exact, otherType } = convertCell(field.columnType, value, role);
  reading.cells[index] = cell;
  if (otherType) note(reading, field.name, "other_type", jsonTypeOf(value));
  if (!exact) {
    keep(reading, field.name, value);
    const isFinerTime =
      field.columnType === "TIMESTAMPTZ" && typeof value === "string" && cell !== null && FINER.test(value);
    if (isFinerTime) reading.cut = [...(reading.cut ?? []), field.name];
  }
  if (allowed !== null && !allowed.has(value)) note(reading, field.name, "new_value", plainText(value));
};

const readMembers = ({ known }: RecordPlan, reading: Reading, record: JsonObject): void => {
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (value === undefined) continue;
    const target = known.get(name);
    if (target !== undefined) {
      readField(reading, target, value);
      continue;
    }
    // null says as little as absence: where a service alternates between them, each read would write each row anew.
    if (value !== null) keep(reading, name, value);
    note(reading, name, "unknown_field", jsonTypeOf(value));
  }
};

/** The row belongs to the list that returned it: the path's company is the key, another one in the record is kept. */
const readPath = ({ ownPath, known, pathValues }: RecordPlan, reading: Reading, record: JsonObject): void => {
  for (const [name, value] of pathValues) {
    const target = known.get(name);
    if (target === undefined) continue;
    const own = reading.present[target.index] ? record[name] : undefined;
    const ownCell = reading.cells[target.index];
    if (own === undefined || own === null) readField(reading, target, value);
    else if (name === ownPath) {
      readField(reading, target, value);
      if (reading.cells[target.index] !== ownCell) keep(reading, name, own);
    }
  }
};

/** Bits of the fields whose stored values stay. Notes required fields that were asked for and are absent. */
const keptBits = ({ fields, isAsked, notAsked }: RecordPlan, reading: Reading): bigint => {
  let kept = notAsked;
  for (const { index, field, bit } of fields) {
    if (reading.present[index]) {
      if (!isAsked[index]) kept ^= bit;
    } else if (isAsked[index] && field.required) note(reading, field.name, "missing_field", "absent");
  }
  return kept;
};

/** The key as one text, or why the record has none. */
const keyOf = (
  { keyFields }: RecordPlan,
  { cells }: Reading,
  record: JsonObject,
): { readonly text: string } | { readonly reason: string } => {
  const parts: string[] = [];
  for (const { index, field } of keyFields) {
    const cell = cells[index] ?? null;
    if (cell === null) {
      const own = record[field.name];
      if (own === undefined || own === null) return { reason: `key field ${field.name} is missing` };
      const because = isBeyondBigint(own) ? "beyond 64 bits" : `not usable: ${jsonTypeOf(own)}`;
      return { reason: `key field ${field.name} is ${because}` };
    }
    const part = String(cell);
    parts.push(`${part.length}:${part}`);
  }
  return { text: parts.join(",") };
};

/** A normalizer for the records of one load; it handles one record at a time. `record` may be any JSON value. */
export const createNormalizer = (
  table: TableName,
  context: RecordContext,
): ((record: JsonValue) => NormalRow | Reject) => {
  const plan = planRecords(table, context);
  const width = plan.fields.length;
  const present = new Uint8Array(width);
  return (record) => {
    const reject = (reason: string): Reject => ({ kind: "reject", reason, record: exactJson(record) });
    if (isUnreadRecord(record)) return reject("not valid JSON");
    if (!isJsonObject(record)) return reject(`not an object but ${jsonTypeOf(record)}`);
    const cells = new Array<Cell>(width).fill(null);
    const reading: Reading = { present: present.fill(0), cells, extra: null, drift: null, cut: null };
    readMembers(plan, reading, record);
    readPath(plan, reading, record);
    const kept = keptBits(plan, reading);
    const key = keyOf(plan, reading, record);
    if ("reason" in key) return reject(key.reason);
    return {
      kind: "row",
      keyText: key.text,
      cells,
      kept,
      full: plan.full,
      extra: reading.extra ?? NO_EXTRA,
      cut: reading.cut ?? NO_CUT,
      drift: reading.drift ?? NO_DRIFT,
    };
  };
};
