// Converts values from DuckDB to plain JavaScript: exact integers, times to the microsecond, lists as arrays. PURE. Two
// versions of DuckDB's client are in use (docs/decisions/lakes.md), each with classes of its own.
/** Value of a result column. BIGINT is a number while that is exact, else a bigint. */
export type OutValue = null | boolean | number | bigint | string | readonly OutValue[] | { [name: string]: OutValue };

/** Form of times in results: `ms` since the epoch (the fraction holds the microseconds), or ISO text. */
export type InstantForm = "ms" | "iso";

type Class<T> = new (...values: never[]) => T;
interface Items {
  readonly items: readonly unknown[];
}
interface Time {
  readonly micros: bigint;
  readonly isFinite: boolean;
}

interface Decimal {
  /** The number without its point. */
  readonly value: bigint;
  toDouble(): number;
}

export interface ValueClasses {
  readonly DuckDBListValue: Class<Items>;
  readonly DuckDBArrayValue: Class<Items>;
  readonly DuckDBStructValue: Class<{ readonly entries: Readonly<Record<string, unknown>> }>;
  readonly DuckDBMapValue: Class<{ readonly entries: readonly { readonly key: unknown; readonly value: unknown }[] }>;
  readonly DuckDBUnionValue: Class<{ readonly value: unknown }>;
  readonly DuckDBDecimalValue: Class<Decimal>;
  readonly DuckDBDateValue: Class<{ readonly days: number; readonly isFinite: boolean }>;
  readonly DuckDBTimestampValue: Class<Time>;
  readonly DuckDBTimestampTZValue: new (micros: bigint) => Time;
}

const exactNumber = (value: bigint): number | bigint =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;

/** Every decimal of 15 digits is a number of its own; longer ones would lose digits. */
const EXACT_DECIMAL = 10n ** 15n;

const isExact = ({ value }: Decimal): boolean => value > -EXACT_DECIMAL && value < EXACT_DECIMAL;

/** Microseconds since the epoch as ISO 8601 text in UTC; null: beyond JavaScript's dates. */
const isoText = (micros: bigint): string | null => {
  const ms = micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n);
  const rest = Number(micros - ms * 1000n);
  const date = new Date(Number(ms));
  if (Number.isNaN(date.getTime())) return null;
  const text = date.toISOString();
  return rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
};

export interface ValueReader {
  /**
   * A value from DuckDB as plain JavaScript: LIST as array, STRUCT and MAP as object, JSON as its text, DECIMAL as
   * number, or as text if a number would lose digits, times in the given form, everything else (DATE, INTERVAL, UUID,
   * BLOB, ...) as DuckDB's text.
   */
  fromDuck(value: unknown, form: InstantForm): OutValue;
  /** Microseconds since the epoch as ISO 8601 text in UTC, with milliseconds, or microseconds where needed. */
  isoOfMicros(micros: bigint): string;
}

export const readerOf = (classes: ValueClasses): ValueReader => {
  const { DuckDBTimestampTZValue, DuckDBTimestampValue, DuckDBListValue, DuckDBArrayValue } = classes;
  const { DuckDBStructValue, DuckDBMapValue, DuckDBUnionValue, DuckDBDecimalValue, DuckDBDateValue } = classes;
  const isoOfMicros = (micros: bigint): string => isoText(micros) ?? String(new DuckDBTimestampTZValue(micros));
  const ofInstant = (value: Time, form: InstantForm) => {
    // `infinity` is a legal timestamp that neither milliseconds nor ISO text can express.
    if (!value.isFinite) return value.micros > 0n ? "infinity" : "-infinity";
    return form === "iso" ? isoOfMicros(value.micros) : Number(value.micros) / 1000;
  };
  const fromDuck = (value: unknown, form: InstantForm): OutValue => {
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
    // The client writes an infinite date as a day of the year 5881580.
    if (value instanceof DuckDBDateValue && !value.isFinite) return value.days > 0 ? "infinity" : "-infinity";
    if (value instanceof DuckDBDecimalValue) return isExact(value) ? value.toDouble() : String(value);
    return String(value);
  };
  return { fromDuck, isoOfMicros };
};
