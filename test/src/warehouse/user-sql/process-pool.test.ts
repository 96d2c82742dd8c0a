// The processes of users' statements: none is left over.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProcessPool, endOf } from "../../../../src/warehouse/user-sql/process-pool.ts";
import type { SqlProcess } from "../../../../src/warehouse/user-sql/sql-process.ts";
import { tempDir } from "../temp-dir.ts";

test("statements that come at the same moment leave one process that waits, and closing ends it", async () => {
  const file = join(tempDir(), "any");
  writeFileSync(file, "");
  const children = () => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");
  const before = new Set(children());
  const ours = () => children().filter((pid) => pid !== "" && !before.has(pid));
  const pool = createProcessPool({ memoryMiB: 64 }, { spare: true, onCrash: () => {}, mayDoWithoutFence: true });
  const held: SqlProcess[] = [];
  await Promise.all([1, 2, 3].map(() => pool.take(file, (one) => held.push(one))));
  await Promise.all(held.map(endOf));
  expect(ours()).toHaveLength(1);
  await pool.close();
  expect(ours()).toEqual([]);
});
