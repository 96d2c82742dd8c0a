// State of the mirror as planning reads it, from the working database or from the published snapshot.
import { z } from "zod";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { type DateField, type RowsOfDay, readRowsPerDay } from "../load/suspects.ts";
import { countRows } from "../load/walks.ts";
import type { ChangeCounts, ScopeState } from "../record/checkpoint.ts";
import { assertOwnCatalog } from "../user-sql/own-snapshot.ts";
import { assertReadable } from "../user-sql/readable.ts";

export interface MirrorReader extends ChangeCounts {
  readonly database: Database;
  scopeStates(stream?: StreamName): Promise<readonly ScopeState[]>;
  /** Facts learned about the service: name → JSON text. */
  capabilities(): Promise<ReadonlyMap<string, string>>;
  /** Mirrored rows in scope, or those of a company. */
  countRows(table: TableName, company?: string): Promise<number>;
  /** Mirrored rows in scope per day of a date field, the earliest first; rows without a date are in none. */
  rowsPerDay(field: DateField): Promise<readonly RowsOfDay[]>;
}

const stateRow = z
  .object({
    stream: z.string().refine(isStreamName),
    scope: z.string(),
    status: z.enum(["idle", "walking", "failed"]),
    walk_id: z.string().nullable(),
    cursor: z.string().nullable(),
    watermark: z.number().nullable(),
    total_count: z.number().nullable(),
    rows_at_walk: z.number().nullable(),
    checked_at: z.number().nullable(),
    walked_at: z.number().nullable(),
    error: z.string().nullable(),
    run_id: z.string(),
    unconfirmed: z.number().nullable(),
    unconfirmed_because: z.string().nullable(),
  })
  .transform(
    (row): ScopeState => ({
      stream: row.stream,
      scope: row.scope,
      status: row.status,
      walkId: row.walk_id,
      cursor: row.cursor,
      watermark: row.watermark,
      totalCount: row.total_count,
      rowsAtWalk: row.rows_at_walk,
      checkedAt: row.checked_at,
      walkedAt: row.walked_at,
      unconfirmed:
        row.unconfirmed_because === null ? null : { rows: row.unconfirmed ?? 0, because: row.unconfirmed_because },
      error: row.error,
      runId: row.run_id,
    }),
  );
const capabilityRow = z.object({ name: z.string(), value: z.string() });

export const mirrorReader = (database: Database): MirrorReader => ({
  database,
  // A snapshot never changes.
  changesOf: () => 0,
  scopeStates: (stream) => database.query(sqlText("warehouse/scope-states.sql"), [stream ?? null], stateRow),
  capabilities: async () => {
    const rows = await database.query(sqlText("warehouse/capabilities.sql"), [], capabilityRow);
    return new Map(rows.map(({ name, value }) => [name, value]));
  },
  countRows: (table, company) => countRows(database, table, company),
  rowsPerDay: (field) => readRowsPerDay(database, field),
});

/** Runs `work` on a snapshot, without a lock and without blocking writers. Throws the error of opening it. */
export const readSnapshot = async <T>(snapshot: string, work: (reader: MirrorReader) => Promise<T>): Promise<T> => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
  const database = await openDatabase(snapshot, { readOnly: true, lockedDown: true });
  try {
    return await work(mirrorReader(database));
  } finally {
    await database.close();
  }
};
