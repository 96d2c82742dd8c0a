// Converts one received record to column values, `_extra` and drift, or to a reject with a reason.
// Pure. Invariant I6: every received value ends in a column, in `_extra` or in `sync.rejects`.
import type { FieldSpec } from "../../catalog/fields.ts";
import type { TableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { type Cell, convertCell, isBeyondBigint, jsonTypeOf } from "./convert-cell.ts";
import { type ExtraEntries, exactJson, extraText, isStorable, storable } from "./json-text.ts";

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
  readonly isKey: boolean;
  readonly isAsked: boolean;
  /** Its bit in `NormalRow.kept`. */
  readonly bit: bigint;
  readonly allowed: ReadonlySet<unknown> | null;
}

/** A normalizer for the records of one load; it handles one record at a time. `record` may be any JSON value. */
export const createNormalizer = (
  spec: TableSpec,
  { asked, fromPath, chosen = false }: RecordContext,
): ((record: JsonValue) => NormalRow | Reject) => {
  const fields = spec.fields.map(
    (field, index): KnownField => ({
      index,
      field,
      isKey: spec.key.includes(field.column),
      isAsked: asked.has(field.name),
      bit: 1n << BigInt(index),
      allowed: field.allowed === undefined ? null : new Set<unknown>(field.allowed),
    }),
  );
  const known = new Map<string, KnownField>(fields.map((field) => [field.field.name, field]));
  const keyFields = spec.key.flatMap((column) => fields.filter(({ field }) => field.column === column));
  const isDefault = ({ optIn, detailOnly, namedOnly }: FieldSpec) => !(optIn || detailOnly || namedOnly);
  const full =
    !chosen &&
    spec.fields.every((field) => !isDefault(field) || asked.has(field.name) || Object.hasOwn(fromPath, field.name));
  const pathValues = Object.entries(fromPath);
  const pathValue = spec.fromPath === undefined ? undefined : fromPath[spec.fromPath];
  const width = spec.fields.length;
  const notAsked = fields.reduce((bits, { isAsked, bit }) => (isAsked ? bits : bits | bit), 0n);

  // State of the present record: new for each record, while the closures over it are created once.
  const present = new Uint8Array(width);
  let cells: Cell[] = [];
  let extra: Map<string, string> | null = null;
  let drift: Drift[] | null = null;
  let cut: string[] | null = null;

  const keep = (name: string, value: JsonValue) => {
    extra ??= new Map();
    // A name that UTF-8 cannot hold is kept in its escaped form beside the value.
    if (isStorable(name)) extra.set(name, extraText(value));
    else extra.set(storable(name), extraText({ $json: exactJson({ [name]: value }) }));
  };
  const note = (field: string, kind: Drift["kind"], detail: string) => {
    drift ??= [];
    drift.push({ field: storable(field), kind, detail: storable(detail).slice(0, DETAIL_CHARS) });
  };
  const read = ({ index, field, isKey, allowed }: KnownField, value: JsonValue) => {
    present[index] = 1;
    if (value === null) return;
    const converted = convertCell(field.columnType, value, isKey);
    cells[index] = converted.cell;
    if (converted.otherType) note(field.name, "other_type", jsonTypeOf(value));
    if (!converted.exact) {
      keep(field.name, value);
      if (
        field.columnType === "TIMESTAMPTZ" &&
        typeof value === "string" &&
        converted.cell !== null &&
        FINER.test(value)
      )
        cut = [...(cut ?? []), field.name];
    }
    if (allowed !== null && !allowed.has(value)) note(field.name, "new_value", plainText(value));
  };

  return (record) => {
    const reject = (reason: string): Reject => ({ kind: "reject", reason, record: exactJson(record) });
    if (!isJsonObject(record)) return reject(`not an object but ${jsonTypeOf(record)}`);

    present.fill(0);
    cells = new Array<Cell>(width).fill(null);
    extra = null;
    drift = null;
    cut = null;

    for (const name of Object.keys(record)) {
      const value = record[name];
      if (value === undefined) continue;
      const target = known.get(name);
      if (target !== undefined) read(target, value);
      else {
        keep(name, value);
        note(name, "unknown_field", jsonTypeOf(value));
      }
    }

    // The row belongs to the list that returned it: the path's company is the key, another one in the record is kept.
    for (const [name, value] of pathValues) {
      const target = known.get(name);
      if (target === undefined) continue;
      const own = present[target.index] ? record[name] : undefined;
      const ownCell = cells[target.index];
      if (own === undefined || own === null) read(target, value);
      else if (name === spec.fromPath && pathValue !== undefined) {
        read(target, value);
        if (cells[target.index] !== ownCell) keep(name, own);
      }
    }

    let kept = notAsked;
    for (const { index, field, isAsked, bit } of fields) {
      if (present[index]) {
        if (!isAsked) kept ^= bit;
      } else if (isAsked && field.required) note(field.name, "missing_field", "absent");
    }

    const keyParts: string[] = [];
    for (const { index, field } of keyFields) {
      const cell = cells[index] ?? null;
      if (cell === null) {
        const own = record[field.name];
        return reject(
          own === undefined || own === null
            ? `key field ${field.name} is missing`
            : `key field ${field.name} is ${isBeyondBigint(own) ? "beyond 64 bits" : `not usable: ${jsonTypeOf(own)}`}`,
        );
      }
      const part = String(cell);
      keyParts.push(`${part.length}:${part}`);
    }
    return {
      kind: "row",
      keyText: keyParts.join(","),
      cells,
      kept,
      full,
      extra: extra ?? NO_EXTRA,
      cut: cut ?? NO_CUT,
      drift: drift ?? NO_DRIFT,
    };
  };
};
