// What an assistant may do with a mirror, as the program that starts the server provides it.
import type { LookupQuestion } from "../sync/rows/lookup-outcome.ts";
import type { ReadSql } from "../warehouse/duckdb/statements.ts";
import type { QueryCursor } from "../warehouse/user-sql/query-result.ts";

/** What a purchase brought, and what it cost. */
export interface Bought {
  readonly value: Readonly<Record<string, unknown>>;
  readonly credits: number;
}

export interface MirrorDoor {
  /** Data directory of the mirror. */
  readonly dataDir: string;
  /** Runs the program's own statements on the published snapshot. Throws SNAPSHOT_MISSING. */
  read<T>(work: (sql: ReadSql, path: string) => Promise<T>): Promise<T>;
  /** Runs an assistant's SQL in the box. Throws QUERY_FAILED, QUERY_LIMIT. */
  query<T>(sql: string, signal: AbortSignal, use: (cursor: QueryCursor) => Promise<T>): Promise<T>;
  /** The next sync's requests and price; sends nothing. */
  plan(streams: readonly string[]): Promise<unknown>;
  /** The mirror's answer to a lookup; null: it has none that is fresh enough. */
  known(question: LookupQuestion): Promise<Bought | null>;
  /** Asks the service, for at most one credit. */
  lookup(question: LookupQuestion): Promise<Bought>;
  /** Syncs, for at most `credits`. */
  sync(streams: readonly string[], credits: number): Promise<Bought>;
}
