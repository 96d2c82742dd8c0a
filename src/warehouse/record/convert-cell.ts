// Converts one JSON value to the value of one column. Pure.
// A value that does not fit becomes NULL with `exact: false`, and the caller keeps the original in `_extra`.
import type { ColumnType } from "../../catalog/fields.ts";
import type { JsonValue } from "../../core/json.ts";
import { isStorable, storable } from "../../core/text/exact-json.ts";
import { parseTime } from "../../core/time.ts";
import { jsonText } from "./json-text.ts";

/** Value of a column: BIGINT as bigint, TIMESTAMPTZ as microseconds since the epoch (bigint), JSON as canonical text. */
export type Cell = null | boolean | number | bigint | string | readonly (string | null)[];

export interface ConvertedCell {
  readonly cell: Cell;
  /** False: the cell lost part of the value. */
  readonly exact: boolean;
  /** The JSON type differs from API.md's, whether or not the value was usable. */
  readonly otherType: boolean;
}

/** `null`, `boolean`, `number`, `string`, `array` or `object`. */
export const jsonTypeOf = (value: JsonValue): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "bigint" ? "number" : typeof value;
};

/** What a column identifies: its row, as part of the table's key, another record, or nothing. */
export type IdRole = "key" | "reference" | "none";

const fits = (cell: Cell): ConvertedCell => ({ cell, exact: true, otherType: false });
const inexact = (cell: Cell): ConvertedCell => ({ cell, exact: false, otherType: false });
const MISFIT: ConvertedCell = { cell: null, exact: false, otherType: true };

const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;
/** A whole number that no column of type BIGINT holds. */
export const isBeyondBigint = (value: JsonValue): boolean =>
  typeof value === "bigint" && (value < MIN_BIGINT || value > MAX_BIGINT);

/** Whole numbers as text, only in the form that the number itself would have. */
const WHOLE_TEXT = /^(0|-?[1-9]\d{0,18})$/;

const text = (value: JsonValue, role: IdRole): ConvertedCell => {
  if (typeof value === "string") {
    // Two keys that differ only in unstorable characters would become one row; an empty key identifies nothing.
    if (role === "key" && (value === "" || !isStorable(value))) return MISFIT;
    return isStorable(value) ? fits(value) : inexact(storable(value));
  }
  const whole = typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
  // An id received as a number still makes a row, or leads to one; `_extra` keeps the original.
  return role !== "none" && whole ? { cell: String(value), exact: false, otherType: true } : MISFIT;
};

const wholeOf = (value: JsonValue): { whole: bigint; otherType: boolean } | null => {
  if (typeof value === "bigint") return { whole: value, otherType: false };
  if (typeof value === "number" && Number.isInteger(value)) return { whole: BigInt(value), otherType: false };
  if (typeof value === "string" && WHOLE_TEXT.test(value)) return { whole: BigInt(value), otherType: true };
  return null;
};

const whole = (value: JsonValue, min: bigint, max: bigint): ConvertedCell => {
  const parsed = wholeOf(value);
  if (parsed === null || parsed.whole < min || parsed.whole > max) {
    return { ...MISFIT, otherType: typeof value !== "number" && typeof value !== "bigint" };
  }
  return { cell: parsed.whole, exact: true, otherType: parsed.otherType };
};

/** Decimal numbers as text, only in the form that the number itself would have. */
const DECIMAL_TEXT = /^-?(0|[1-9]\d{0,14})(\.\d*[1-9])?$/;

const double = (value: JsonValue): ConvertedCell => {
  if (typeof value === "number") return fits(value);
  if (typeof value === "string" && DECIMAL_TEXT.test(value) && String(Number(value)) === value) {
    return { cell: Number(value), exact: true, otherType: true };
  }
  if (typeof value === "bigint") {
    const near = Number(value);
    return Number.isFinite(near) && BigInt(near) === value ? fits(near) : inexact(null);
  }
  return MISFIT;
};

const time = (value: JsonValue): ConvertedCell => {
  if (typeof value !== "string") return MISFIT;
  const parsed = parseTime(value);
  return parsed === null ? inexact(null) : { cell: parsed.micros, exact: parsed.exact, otherType: false };
};

const isText = (item: JsonValue): item is string | null => item === null || typeof item === "string";

const texts = (value: JsonValue): ConvertedCell => {
  if (!Array.isArray(value)) return MISFIT;
  const items: (string | null)[] = [];
  let exact = true;
  for (const item of value) {
    if (!isText(item)) return MISFIT;
    const whole = item === null || isStorable(item);
    exact &&= whole;
    items.push(item === null || whole ? item : storable(item));
  }
  return { cell: items, exact, otherType: false };
};

const json = (value: JsonValue): ConvertedCell => {
  const { text: cell, exact } = jsonText(value);
  return { cell, exact, otherType: false };
};

/** Converts a value other than null. */
export const convertCell = (type: ColumnType, value: JsonValue, role: IdRole): ConvertedCell => {
  switch (type) {
    case "VARCHAR":
      return text(value, role);
    case "BIGINT":
      return whole(value, MIN_BIGINT, MAX_BIGINT);
    case "INTEGER": {
      const converted = whole(value, -(2n ** 31n), 2n ** 31n - 1n);
      return typeof converted.cell === "bigint" ? { ...converted, cell: Number(converted.cell) } : converted;
    }
    case "DOUBLE":
      return double(value);
    case "BOOLEAN":
      return typeof value === "boolean" ? fits(value) : MISFIT;
    case "TIMESTAMPTZ":
      return time(value);
    case "JSON":
      return json(value);
    case "VARCHAR[]":
      return texts(value);
    default: {
      const never: never = type;
      throw new TypeError(`unknown column type ${String(never)}`);
    }
  }
};
