// A folder of extensions in the layout in which DuckDB itself installs them.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { openExtended } from "../../src/warehouse/duckdb/extended/extended-duckdb.ts";

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
