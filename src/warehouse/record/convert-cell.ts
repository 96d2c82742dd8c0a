// Converts one JSON value to the value of one column. Pure.
// A value that does not fit becomes NULL with `exact: false`, and the caller keeps the original in `_extra`.

import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import type { ColumnType } from "../../catalog/fields.ts";
import { ExactNumber, exactNumber, isDouble, type JsonValue, jsonText, storable } from "../../core/json.ts";
import { parseTime } from "../../core/time.ts";

// Cells of rows in the form of DuckDB's appender.

/** DuckDB types of appended cells. */
export const DUCK_TYPES: Record<ColumnType, DuckDBType> = {
  VARCHAR,
  BIGINT,
  INTEGER,
  DOUBLE,
  BOOLEAN,
  TIMESTAMPTZ,
  // Appended as text: jsonText has ensured that DuckDB can parse it, so it is not parsed again.
  JSON: VARCHAR,
  "VARCHAR[]": LIST(VARCHAR),
};

export const duckCell = (type: ColumnType, cell: Cell): DuckDBValue => {
  if (type === "TIMESTAMPTZ") return typeof cell === "bigint" ? new DuckDBTimestampTZValue(cell) : null;
  return typeof cell === "object" && cell !== null ? listValue([...cell]) : cell;
};

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
  return typeof value === "bigint" || value instanceof ExactNumber ? "number" : typeof value;
};

/** A number as people write it, perhaps with zeros at the end: `"86.80"`. */
const NUMBER_TEXT = /^(?!-0(?:\.0*)?$)-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** A longer text is no number of a record. */
const LONGEST_NUMBER = 400;

/** The number that a text writes; null: it is none, or one that no double holds. */
const numberIn = (text: string): number | bigint | null => {
  if (text.length > LONGEST_NUMBER || !NUMBER_TEXT.test(text)) return null;
  const value = exactNumber(text);
  return typeof value === "number" || typeof value === "bigint" ? value : null;
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

const text = (value: JsonValue, role: IdRole): ConvertedCell => {
  if (typeof value === "string") {
    // Two keys that differ only in unstorable characters would become one row; an empty key identifies nothing.
    if (role === "key" && (value === "" || !value.isWellFormed())) return MISFIT;
    return value.isWellFormed() ? fits(value) : inexact(storable(value));
  }
  const whole = typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
  // An id received as a number still makes a row, or leads to one; `_extra` keeps the original.
  return role !== "none" && whole ? { cell: String(value), exact: false, otherType: true } : MISFIT;
};

const whole = (value: JsonValue, min: bigint, max: bigint): ConvertedCell => {
  const number = typeof value === "string" ? numberIn(value) : value;
  const isWhole = typeof number === "bigint" || (typeof number === "number" && Number.isInteger(number));
  const cell = isWhole ? BigInt(number) : null;
  if (cell === null || cell < min || cell > max) return { ...MISFIT, otherType: jsonTypeOf(value) !== "number" };
  return { cell, exact: true, otherType: typeof value === "string" };
};

const double = (value: JsonValue): ConvertedCell => {
  if (typeof value === "number") return fits(value);
  if (value instanceof ExactNumber) return inexact(Number(value.literal));
  if (typeof value === "string") {
    const number = numberIn(value);
    if (number !== null) return { ...double(number), otherType: true };
    // Digits beyond a double: the nearest number, and the text in `_extra`.
    return NUMBER_TEXT.test(value) && Number.isFinite(Number(value)) && !isDouble(value)
      ? { cell: Number(value), exact: false, otherType: true }
      : MISFIT;
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
    const whole = item === null || item.isWellFormed();
    exact &&= whole;
    items.push(item === null || whole ? item : storable(item));
  }
  return { cell: items, exact, otherType: false };
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
    case "JSON": {
      const { text: cell, exact } = jsonText(value);
      return { cell, exact, otherType: false };
    }
    case "VARCHAR[]":
      return texts(value);
    default: {
      const never: never = type;
      throw new TypeError(`unknown column type ${String(never)}`);
    }
  }
};
