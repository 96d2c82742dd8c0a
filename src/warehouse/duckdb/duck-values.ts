// Converts values to and from the mirror's DuckDB client.
import * as client from "@duckdb/node-api";
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  HUGEINT,
  LIST,
  listValue,
  SQLNULL,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import { readerOf } from "./out-values.ts";

/** A point in time as a bound value: TIMESTAMPTZ. Made by `instant`. */
export interface Instant {
  readonly micros: bigint;
}

/** Value of a statement's parameter. Whole numbers bind as BIGINT, others as DOUBLE, arrays as VARCHAR[]. */
export type SqlValue = null | boolean | number | bigint | string | Instant | readonly (string | null)[];

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

/** The mirror's own client. */
export const { fromDuck, isoOfMicros } = readerOf(client);
