// Statements that only read end: after their time, and when the program is to end.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { tempDir } from "../temp-dir.ts";

let file: string;
beforeEach(async () => {
  file = join(tempDir(), "mirror.duckdb");
  const database = await openDatabase(file);
  await database.run("CREATE TABLE t AS SELECT 1 AS x");
  await database.close();
});

test("a statement that takes longer than its limit fails as such, and the next one runs", async () => {
  const database = await openDatabase(file, { readOnly: true, statementMs: 300 });
  await expect(database.cells("SELECT count(*) FROM range(1000000000000)", [])).rejects.toMatchObject({
    code: "QUERY_LIMIT",
    message: expect.stringContaining("a statement of duckmirror took longer than 0.3 seconds"),
  });
  expect(await database.cells("FROM t", [])).toEqual([[1]]);
  await database.close();
});

test("a statement without end does not keep the program from ending", async () => {
  const child = join(import.meta.dirname, "interrupted-child.ts");
  const argv = ["--import", import.meta.resolve("tsx"), child, file];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: 300_000 });
  expect(stdout).toContain("Interrupted");
});
