// A system without Landlock: nobody's SQL runs unfenced, unless the setting or the owner says so.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { tempDir } from "../temp-dir.ts";

test("without a box SQL of users is refused, and says why; trusted and the owner go on", async () => {
  const snapshot = join(tempDir(), "warehouse.duckdb");
  const database = await openDatabase(snapshot);
  await database.run("CREATE TABLE t AS SELECT 1 AS x");
  await database.close();
  const child = join(import.meta.dirname, "without-landlock-child.ts");
  const argv = ["--import", import.meta.resolve("tsx"), child, snapshot];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  const because = "This system offers no box for SQL of users, so it is refused: Landlock: errno 38.";
  expect(JSON.parse(stdout)).toEqual({
    offered: { level: "none", because },
    box: because,
    trusted: [[1]],
    owner: [[1]],
    off: "SQL of users is switched off here.",
  });
});
