// Everything a working database holds, as text that two databases can be compared by.
import { join } from "node:path";
import { z } from "zod";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";

const tableRow = z.object({ path: z.string() });
const valueRow = z.object({ row: z.string() });

/** Tables of their own time: when this file was migrated and its views were made. */
const OWN = ["sync.migrations", "sync.views"];
/** The time of publishing is each snapshot's own. */
const WITHOUT: Readonly<Record<string, string>> = { "sync.capabilities": " WHERE name <> 'published'" };

/** Table → its rows as sorted JSON lines. The database must be closed. `file`: path in the data directory. */
export const dumpMirror = async (
  dataDir: string,
  file = join("state", "working.duckdb"),
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const database = await openDatabase(join(dataDir, file), { readOnly: true, threads: 1 });
  try {
    const tables = await database.query(
      `SELECT schema_name || '.' || table_name AS path FROM duckdb_tables()
       WHERE schema_name IN ('main', 'history', 'sync') ORDER BY ALL`,
      [],
      tableRow,
    );
    const dump: Record<string, readonly string[]> = {};
    for (const { path } of tables.filter((table) => !OWN.includes(table.path))) {
      const rows = await database.query(
        `SELECT CAST(to_json(t) AS VARCHAR) AS row FROM ${path} AS t${WITHOUT[path] ?? ""} ORDER BY ALL`,
        [],
        valueRow,
      );
      dump[path] = rows.map(({ row }) => row);
    }
    return dump;
  } finally {
    await database.close();
  }
};
