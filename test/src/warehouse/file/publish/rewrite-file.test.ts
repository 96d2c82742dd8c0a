// A rewrite writes the contents once, into the file itself.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_MEMORY, machineMemory, memoryPlan } from "../../../../../src/core/config/memory-plan.ts";
import { openDatabase } from "../../../../../src/warehouse/duckdb/database.ts";
import { copyContents } from "../../../../../src/warehouse/file/publish/rewrite-file.ts";
import { tempDir } from "../../temp-dir.ts";

test("the copy is written without a WAL", async () => {
  const dir = tempDir();
  const [old, fresh] = [join(dir, "old.duckdb"), join(dir, "fresh.duckdb")];
  const database = await openDatabase(old);
  await database.run("CREATE TABLE texts (id BIGINT PRIMARY KEY, text VARCHAR)");
  await database.run("INSERT INTO texts SELECT i, md5(i::VARCHAR) FROM range(20000) AS t(i)");
  await database.close();
  // DuckDB cannot write a WAL where a folder has its name.
  mkdirSync(`${fresh}.wal`);
  await copyContents(old, fresh, { tempDir: join(dir, "tmp"), memory: memoryPlan(DEFAULT_MEMORY, machineMemory()) });
  expect(statSync(fresh).size).toBeGreaterThan(statSync(old).size / 2);
});
