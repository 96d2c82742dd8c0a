// State of the mirror as planning reads it, from the working database or from the published snapshot.
import { z } from "zod";
import type { StreamName } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { readError } from "../duckdb/duck-errors.ts";
import type { DatabaseOptions } from "../duckdb/instance.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { rowOf } from "../duckdb/statements.ts";
import { type DateField, type RowsOfDay, readRowsPerDay } from "../load/suspects.ts";
import { countRows } from "../load/walks.ts";
import { type ChangeCounts, type ScopeState, scopeSchema } from "../record/checkpoint.ts";
import { assertOwnSnapshot } from "../user-sql/own-snapshot.ts";

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

const stateRow = rowOf({
  ...scopeSchema.shape,
  unconfirmed: z.number().nullable(),
  unconfirmedBecause: z.string().nullable(),
}).transform(
  ({ unconfirmed, unconfirmedBecause: because, ...state }): ScopeState => ({
    ...state,
    unconfirmed: because === null ? null : { rows: unconfirmed ?? 0, because },
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

/** Memory of a command that answers from the snapshot and ends. */
export const FOR_ONE_ANSWER: DatabaseOptions = { memoryLimit: "1GB" };

/**
 * Opens a published snapshot for the program's own statements: read-only, in this process, without a lock. Throws SNAPSHOT_MISSING,
 * SNAPSHOT_DAMAGED, CATALOG_REFUSED, QUERY_FAILED. The caller closes it.
 */
export const openSnapshot = async (snapshot: string, options: DatabaseOptions = {}): Promise<Database> => {
  await assertOwnSnapshot(snapshot);
  return openDatabase(snapshot, { ...options, readOnly: true, lockedDown: true }).catch((error: unknown) => {
    throw readError(error, snapshot);
  });
};

/** Runs `work` on a snapshot. Throws as `openSnapshot`. */
export const onSnapshot = async <T>(
  snapshot: string,
  work: (database: Database) => Promise<T>,
  options: DatabaseOptions = {},
): Promise<T> => {
  const database = await openSnapshot(snapshot, options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
};

/** The same with a reader of the mirror's state. */
export const readSnapshot = <T>(snapshot: string, work: (reader: MirrorReader) => Promise<T>): Promise<T> =>
  onSnapshot(snapshot, (database) => work(mirrorReader(database)));
