// The processes of users' statements: none is left over, and none that ended is handed out.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createProcessPool, endOf } from "../../../../src/warehouse/user-sql/process-pool.ts";
import type { SqlProcess } from "../../../../src/warehouse/user-sql/sql-process.ts";
import { tempDir } from "../temp-dir.ts";

const children = () => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");

/** A pool, the processes that it handed out for a file, and those of this process that it started. */
const aPool = () => {
  const file = join(tempDir(), "any");
  writeFileSync(file, "");
  const before = new Set(children());
  const limits = { memoryMiB: 64, timeMs: 60_000 };
  const pool = createProcessPool(limits, { spare: true, onCrash: () => {}, mayDoWithoutFence: true });
  const held: SqlProcess[] = [];
  return {
    ours: () => children().filter((pid) => pid !== "" && !before.has(pid)),
    take: () => pool.take(file, (one) => held.push(one)),
    endHeld: () => Promise.all(held.map(endOf)),
    close: pool.close,
  };
};

test("statements that come at the same moment leave one process that waits, and closing ends it", async () => {
  const { ours, take, endHeld, close } = aPool();
  await Promise.all([take(), take(), take()]);
  await endHeld();
  expect(ours()).toHaveLength(1);
  await close();
  expect(ours()).toEqual([]);
});

test("a process that ended while it waited is not handed out", async () => {
  const { ours, take, endHeld, close } = aPool();
  await take();
  await endHeld();
  process.kill(Number(ours()[0]), "SIGKILL");
  await vi.waitFor(() => expect(ours()).toEqual([]), { timeout: 30_000 });
  expect((await take()).isOver()).toBe(false);
  await endHeld();
  await close();
});
