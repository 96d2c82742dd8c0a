// Opens the snapshot and runs the program's own read-only SQL on it, in this process. SQL of users runs in a separate process
// (warehouse/user-sql).
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { fileError, readError, withOurGuess } from "../duckdb/duck-errors.ts";
import { type DatabaseOptions, openInstance } from "../duckdb/instance.ts";
import type { OutValue } from "../duckdb/out-values.ts";
import { assertWhole } from "../duckdb/row-batches.ts";
import { fromDuck } from "../duckdb/statements.ts";
import type { QueryCursor, QueryResult } from "../user-sql/query-output.ts";
import { assertOwnSnapshot } from "../user-sql/trusted-files.ts";

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

export interface QueryRequest {
  readonly snapshot: string;
  readonly sql: string;
  /** Interrupts the query. */
  readonly signal?: AbortSignal;
  /** DuckDB size text, e.g. `2GB`. */
  readonly memoryLimit?: string;
}

const failedOn =
  (snapshot: string) =>
  (raw: unknown): DuckmirrorError => {
    const error = fileError(raw, snapshot, true);
    return error instanceof DuckmirrorError
      ? error
      : new DuckmirrorError("QUERY_FAILED", { detail: withOurGuess(detailOf(error)) }, { cause: error });
  };

/**
 * Runs the query and streams its rows to `use`; the snapshot is closed when `use` ends. Throws SNAPSHOT_MISSING,
 * SNAPSHOT_DAMAGED, QUERY_FAILED, or the error of `use`.
 */
export const streamQuery = async <T>(request: QueryRequest, use: (cursor: QueryCursor) => Promise<T>): Promise<T> => {
  const { snapshot, sql, signal, memoryLimit } = request;
  const failed = failedOn(snapshot);
  await assertOwnSnapshot(snapshot);
  const instance = await openInstance(snapshot, {
    readOnly: true,
    lockedDown: true,
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
  }).catch((error: unknown) => {
    throw failed(error);
  });
  const connection = await instance.connect();
  const stop = () => connection.interrupt();
  try {
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) throw signal.reason;
    const result = await connection.stream(sql).catch((error: unknown) => {
      throw failed(error);
    });
    const names = result.columnNames();
    const types = result.columnTypes();
    async function* batches() {
      try {
        for await (const rows of result.yieldRows()) yield rows.map((row) => row.map((cell) => fromDuck(cell, "iso")));
        assertWhole(result);
      } catch (error) {
        throw failed(error);
      }
    }
    const columns = names.map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index] ?? "") }));
    return await use({ columns, batches: batches() });
  } finally {
    signal?.removeEventListener("abort", stop);
    connection.closeSync();
    instance.closeSync();
  }
};

/** Runs the query and returns every row. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED or QUERY_FAILED. */
export const runQuery = (request: QueryRequest): Promise<QueryResult> =>
  streamQuery(request, async ({ columns, batches }) => {
    const rows: (readonly OutValue[])[] = [];
    for await (const batch of batches) for (const row of batch) rows.push(row);
    return { columns, rows };
  });
