// The processes of users' statements: none is left over, and none that ended is handed out.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createProcessPool, endOf } from "../../../../src/warehouse/user-sql/process-pool.ts";
import type { SqlProcess } from "../../../../src/warehouse/user-sql/sql-process.ts";
import { tempDir } from "../temp-dir.ts";

const children = () => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");
const LIMITS = { memoryMiB: 64, timeMs: 60_000 };
const OPTIONS = { spare: true, onCrash: () => {}, mayDoWithoutFence: true };

test("statements that come at the same moment leave one process that waits, and closing ends it", async () => {
  const file = join(tempDir(), "any");
  writeFileSync(file, "");
  const before = new Set(children());
  const ours = () => children().filter((pid) => pid !== "" && !before.has(pid));
  const pool = createProcessPool(LIMITS, OPTIONS);
  const held: SqlProcess[] = [];
  await Promise.all([1, 2, 3].map(() => pool.take(file, (one) => held.push(one))));
  await Promise.all(held.map(endOf));
  expect(ours()).toHaveLength(1);
  await pool.close();
  expect(ours()).toEqual([]);
});

test("a process that ended while it waited is not handed out", async () => {
  const file = join(tempDir(), "any");
  writeFileSync(file, "");
  const before = new Set(children());
  const ours = () => children().filter((pid) => pid !== "" && !before.has(pid));
  const pool = createProcessPool(LIMITS, OPTIONS);
  const held: SqlProcess[] = [];
  await pool.take(file, (one) => held.push(one));
  await Promise.all(held.map(endOf));
  const [waiting = ""] = ours();
  process.kill(Number(waiting), "SIGKILL");
  await vi.waitFor(() => expect(ours()).toEqual([]), { timeout: 30_000 });
  const next = await pool.take(file, (one) => held.push(one));
  expect(next.isOver()).toBe(false);
  await Promise.all([...held.map(endOf), pool.close()]);
});
