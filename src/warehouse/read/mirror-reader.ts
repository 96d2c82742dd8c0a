// Reads the state of the mirror for planning, from the working database or, without a lock, from the published snapshot.
import { z } from "zod";
import type { StreamName } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import type { Database } from "../duckdb/database.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { rowOf } from "../duckdb/statements.ts";
import { type DateField, type RowsOfDay, readRowsPerDay } from "../load/suspects.ts";
import { countRows } from "../load/walks.ts";
import { type ChangeCounts, type ScopeState, scopeSchema } from "../record/checkpoint.ts";
import { onSnapshot } from "./query.ts";

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

/** Runs `work` on a snapshot with a reader of the mirror's state. Throws as `openSnapshot`. */
export const readSnapshot = <T>(snapshot: string, work: (reader: MirrorReader) => Promise<T>): Promise<T> =>
  onSnapshot(snapshot, (database) => work(mirrorReader(database)));
