// Generated rows before loading: API field → value. Numeric ids are text, so that 64 bits stay exact.
import type { JsonValue } from "../../core/json.ts";

/** A value; undefined: the optional field is missing; a function: long text, written only when the row is loaded. */
type Cell = JsonValue | undefined | (() => string);

export type Row = Readonly<Record<string, Cell>>;

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** ISO 8601 text of ms since the epoch. */
export const iso = (ms: number): string => new Date(ms).toISOString();

/** Midnight UTC of the day of `ms`. */
export const day = (ms: number): string => iso(Math.floor(ms / DAY_MS) * DAY_MS);
