// A mirror to deliver: changed, published, and read as the snapshot has it.
import { join } from "node:path";
import { z } from "zod";
import type { DeliverySource } from "../../../src/deliver/destination.ts";
import { openSource, type Recipient } from "../../../src/deliver/source.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import type { Warehouse } from "../../../src/warehouse/file/warehouse.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../warehouse/checkpoints.ts";

let commits = 0;

/** Signals of a month, as one commit; each later than the one before. */
export const signalsOf = (month: string, ids: readonly number[], headline: string) =>
  aCheckpoint([
    aLoad(
      "signals",
      ids.map((id) => aSignal(id, { headline, date: `${month}-15T00:00:00Z` })),
      { receivedAt: T0 + ++commits },
    ),
  ]);

/** Deletes signals, as the end of a walk does. */
export const deleteSignals = (warehouse: Warehouse, ids: readonly number[]) =>
  warehouse.deleteKeys({ table: "signals", ids: ids.map(String), runId: "run-2", now: T0 + ++commits });

/** Opens the published snapshot for one delivery. */
export const withSource = async <T>(
  dataDir: string,
  work: (source: DeliverySource) => Promise<T>,
  recipient: Partial<Recipient> = {},
): Promise<T> => {
  const open = await openSource({ dataDir, now: Date.now() });
  try {
    return await work(await open.sourceFor({ name: "files", tables: [], takeOver: false, ...recipient }));
  } finally {
    await open.close();
  }
};

const rowText = z.object({ row: z.string() });
const jsonRows = "SELECT CAST(to_json(t) AS VARCHAR) AS row FROM";

/** Rows of a table as the snapshot has them, as JSON, sorted. JSON columns are text, as they are in Parquet. */
export const snapshotRows = async (dataDir: string, table: string): Promise<readonly string[]> => {
  const database = await openDatabase(join(dataDir, "warehouse.duckdb"), { readOnly: true, threads: 1 });
  try {
    const columns = await database.query(
      "SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = $1 ORDER BY column_index",
      [table],
      z.object({ name: z.string(), type: z.string() }),
    );
    const cells = columns.map(({ name, type }) =>
      type === "JSON" ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`,
    );
    const rows = await database.query(`${jsonRows} (SELECT ${cells.join(", ")} FROM main.${table}) AS t`, [], rowText);
    return rows.map(({ row }) => row).sort();
  } finally {
    await database.close();
  }
};

/** Rows of Parquet files, as JSON, sorted. */
export const parquetRows = async (files: readonly string[]): Promise<readonly string[]> => {
  if (files.length === 0) return [];
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    const list = files.map((file) => `'${file}'`).join(", ");
    const rows = await database.query(`${jsonRows} read_parquet([${list}]) AS t`, [], rowText);
    return rows.map(({ row }) => row).sort();
  } finally {
    await database.close();
  }
};
