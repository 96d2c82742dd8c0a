// A lake to deliver to, and readers of it.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { openExtended } from "../../src/warehouse/duckdb/extended/extended-duckdb.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { delivered, reportOf } from "./deliveries.ts";

export const aFolder = tempDir;

export type Catalog = "sqlite" | "duckdb";
export const catalogUrl = (catalog: Catalog): string =>
  catalog === "sqlite" ? "ducklake:sqlite:lake/catalog.sqlite" : "ducklake:lake/catalog.ducklake";

export interface LakeCall {
  readonly dataDir: string;
  /** Address of the catalog; relative to `at`. */
  readonly url?: string;
  readonly at?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly takeOver?: boolean;
}

/** The setting for a lake. */
export const lakeSetting = (url: string, settings: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify([{ name: "lake", kind: "ducklake", url, extension_directory: inject("extensions"), ...settings }]);

/** Delivers as the job does. */
const calling =
  <T>(job: (...call: Parameters<typeof reportOf>) => T) =>
  ({ dataDir, url = catalogUrl("sqlite"), settings, ...more }: LakeCall): T =>
    job(dataDir, lakeSetting(url, settings), more);
export const report = calling(reportOf);
export const deliver = calling(delivered);

type Run = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** A reader of the lake with its catalog attached as `lake`. */
export const withReader = async <T>(
  at: string,
  use: (run: Run) => Promise<T>,
  url = catalogUrl("sqlite"),
): Promise<T> => {
  const extensions = ["ducklake", "sqlite_scanner", "postgres_scanner"];
  const opening = { memoryLimit: "1GB", threads: 1, extensions, extensionDirectory: inject("extensions") };
  const duckdb = await openExtended(opening, new AbortController().signal);
  try {
    await duckdb.run(`ATTACH '${url.replace("lake/", `${join(at, "lake")}/`)}' AS lake (READ_ONLY)`);
    return await use((sql) => duckdb.run(sql));
  } finally {
    await duckdb.close();
  }
};

/** Tables of the lake that differ from the published snapshot, with the number of differing rows. */
export const differences = (dataDir: string, at: string, url = catalogUrl("sqlite"), schema = "main") =>
  withReader(
    at,
    async (run) => {
      await run(`ATTACH '${join(dataDir, "warehouse.duckdb")}' AS snapshot (READ_ONLY)`);
      const found: Record<string, unknown> = {};
      for (const table of TABLE_NAMES) {
        const [lake, here] = [`lake.${schema}.${table}`, `snapshot.main.${table}`];
        const columns = (of: string) => run(`SELECT column_name, column_type FROM (DESCRIBE ${of})`);
        const [a, b] = [JSON.stringify(await columns(lake)), JSON.stringify(await columns(here))];
        const [rows] = await run(`SELECT (SELECT count(*) FROM (FROM ${lake} EXCEPT ALL FROM ${here}))
          + (SELECT count(*) FROM (FROM ${here} EXCEPT ALL FROM ${lake})) AS n`);
        if (a !== b || rows?.n !== "0") found[table] = { rows: rows?.n, columns: a === b ? "same" : [a, b] };
      }
      return found;
    },
    url,
  );

/** The same for shared tables: rows that differ, by organization and table. `mirrors`: organization → its data directory. */
export const differencesIn = (at: string, mirrors: Readonly<Record<string, string>>) =>
  withReader(at, async (run) => {
    const found: Record<string, unknown> = {};
    for (const [organization, dataDir] of Object.entries(mirrors)) {
      await run(`ATTACH '${join(dataDir, "warehouse.duckdb")}' AS snapshot (READ_ONLY)`);
      for (const table of TABLE_NAMES) {
        const lake = `(SELECT * EXCLUDE (organization) FROM lake.main.${table} WHERE organization = '${organization}')`;
        const here = `snapshot.main.${table}`;
        const [rows] = await run(`SELECT (SELECT count(*) FROM (FROM ${lake} EXCEPT ALL FROM ${here}))
          + (SELECT count(*) FROM (FROM ${here} EXCEPT ALL FROM ${lake})) AS n`);
        if (rows?.n !== "0") found[`${organization}.${table}`] = rows?.n;
      }
      await run("DETACH snapshot");
    }
    return found;
  });

/** Puts extensions into a folder in the layout in which DuckDB itself installs them. */
export const ownLayout = async (root: string, names = ["ducklake", "sqlite_scanner"]): Promise<string> => {
  const duckdb = await openExtended({ memoryLimit: "256MB", extensions: [] }, new AbortController().signal);
  const [row] = await duckdb.run("SELECT platform FROM pragma_platform()");
  await duckdb.close();
  const folder = join(root, "v1.5.5", String(row?.platform));
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    copyFileSync(join(inject("extensions"), `${name}.duckdb_extension`), join(folder, `${name}.duckdb_extension`));
  }
  return root;
};
