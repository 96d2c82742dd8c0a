// Converts values to and from DuckDB: exact integers, times to the microsecond, lists as arrays.
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBArrayValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBUnionValue,
  type DuckDBValue,
  HUGEINT,
  LIST,
  listValue,
  SQLNULL,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";

/** A point in time as a bound value: TIMESTAMPTZ. Made by `instant`. */
export interface Instant {
  readonly micros: bigint;
}

/** Value of a statement's parameter. Whole numbers bind as BIGINT, others as DOUBLE, arrays as VARCHAR[]. */
export type SqlValue = null | boolean | number | bigint | string | Instant | readonly (string | null)[];

/** Value of a result column. BIGINT is a number while that is exact, else a bigint. */
export type OutValue = null | boolean | number | bigint | string | readonly OutValue[] | { [name: string]: OutValue };

/** `ms` since the epoch (fractions down to a microsecond count) as a bound TIMESTAMPTZ; null stays NULL. */
export const instant = (ms: number | null): Instant | null =>
  ms === null ? null : { micros: BigInt(Math.round(ms * 1000)) };

const isInstant = (value: SqlValue): value is Instant =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fitsBigint = (value: bigint) => value >= -(2n ** 63n) && value < 2n ** 63n;
const ofWhole = (value: bigint) => ({ value, type: fitsBigint(value) ? BIGINT : HUGEINT });

/**
 * A parameter in the form of DuckDB's client. The type is given, because the client would bind a bigint as HUGEINT.
 */
export const toDuck = (value: SqlValue): { readonly value: DuckDBValue; readonly type: DuckDBType } => {
  if (value === null) return { value, type: SQLNULL };
  if (typeof value === "string") return { value, type: VARCHAR };
  if (typeof value === "boolean") return { value, type: BOOLEAN };
  if (typeof value === "bigint") return ofWhole(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? ofWhole(BigInt(value)) : { value, type: DOUBLE };
  if (isInstant(value)) return { value: new DuckDBTimestampTZValue(value.micros), type: TIMESTAMPTZ };
  return { value: listValue([...value]), type: LIST(VARCHAR) };
};

const exactNumber = (value: bigint): number | bigint =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;

/** Microseconds since the epoch as ISO 8601 text in UTC, with milliseconds, or microseconds where needed. */
export const isoOfMicros = (micros: bigint): string => {
  const ms = micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n);
  const rest = Number(micros - ms * 1000n);
  const date = new Date(Number(ms));
  if (Number.isNaN(date.getTime())) return new DuckDBTimestampTZValue(micros).toString();
  const text = date.toISOString();
  return rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
};

/** Form of times in results: `ms` since the epoch (the fraction holds the microseconds), or ISO text. */
export type InstantForm = "ms" | "iso";

const ofInstant = (value: DuckDBTimestampTZValue | DuckDBTimestampValue, form: InstantForm): OutValue => {
  // `infinity` is a legal timestamp that neither milliseconds nor ISO text can express.
  if (!value.isFinite) return value.micros > 0n ? "infinity" : "-infinity";
  return form === "iso" ? isoOfMicros(value.micros) : Number(value.micros) / 1000;
};

/**
 * A value from DuckDB as plain JavaScript: LIST as array, STRUCT and MAP as object, JSON as its text, DECIMAL as
 * number, times in the given form, everything else (DATE, INTERVAL, UUID, BLOB, ...) as DuckDB's text.
 */
export const fromDuck = (value: DuckDBValue, form: InstantForm): OutValue => {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "bigint") return exactNumber(value);
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return ofInstant(value, form);
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    return value.items.map((item) => fromDuck(item, form));
  }
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, item]) => [name, fromDuck(item, form)]));
  }
  if (value instanceof DuckDBMapValue) {
    return Object.fromEntries(value.entries.map(({ key, value: item }) => [String(key), fromDuck(item, form)]));
  }
  if (value instanceof DuckDBUnionValue) return fromDuck(value.value, form);
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  return String(value);
};
