// Kills of the program while it writes files that others read. Shows P27 and P28.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { isCode } from "../../../src/core/errors.ts";
import { openWarehouse } from "../../../src/warehouse/file/warehouse.ts";
import { readJournal } from "../../../src/warehouse/journal/read-journal.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../support/feed.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, oneRow, rowsOf } from "./builders.ts";
import { startChild, startLimitedChild } from "./child.ts";
import { tempDir } from "./temp-dir.ts";

const open = (dataDir: string) => openWarehouse({ dataDir, clock: systemClock });

test("kill -9 between and inside commits loses nothing that was acknowledged, and neither cursor nor journal is beyond its rows", async () => {
  const dataDir = tempDir();
  let next = 0;
  for (const acknowledged of [1, 4, 9, 2, 14, 6]) {
    const child = startChild("commit", dataDir, String(next));
    expect(await child.next()).toBe("open");
    let last = -1;
    for (let i = 0; i < acknowledged; i++) last = Number(await child.next());
    await child.kill();
    expect(existsSync(join(dataDir, "state", "writer.lock"))).toBe(true);
    const warehouse = await open(dataDir);
    const [state] = await warehouse.scopeStates("signals");
    const committed = Number(state?.cursor);
    expect(committed).toBeGreaterThanOrEqual(last);
    expect(await oneRow(warehouse, "SELECT count(*) AS n, max(id) AS last FROM signals WHERE id >= 1000")).toEqual({
      n: committed + 1,
      last: 1000 + committed,
    });
    expect(await rowsOf(warehouse, "SELECT DISTINCT headline FROM signals WHERE id < 1000")).toEqual([
      { headline: `commit ${committed}` },
    ]);
    expect(await warehouse.requestsOf("run-1")).toHaveProperty("size", committed + 1);
    next = committed + 1;
    await warehouse.close();
    const noted: number[] = [];
    const gap = (from: number) => expect(from, "a gap in the journal").toBeNull();
    for await (const { seq } of readJournal(join(dataDir, "state", "archive"), gap)) noted.push(seq);
    expect([next, next + 1]).toContain(noted.length);
    expect(noted).toEqual(noted.map((_, index) => index + 1));
  }
});

test("kill -9 while it publishes neither loses nor doubles a number of the change feed, and leaves a whole snapshot", async () => {
  const dataDir = tempDir();
  let next = 0;
  let known = 0;
  const follower: Copy = new Map();
  for (const acknowledged of [2, 5, 1, 7]) {
    const child = startChild("publish", dataDir, String(next));
    await child.next();
    for (let i = 0; i < acknowledged; i++) next = Number(await child.next()) + 1;
    await child.kill();
    const snapshot = join(dataDir, "warehouse.duckdb");
    const { rows } = await runQuery({ snapshot, sql: "SELECT count(*) FROM signals WHERE id >= 1000" });
    expect(Number(rows[0]?.[0])).toBeGreaterThanOrEqual(next);
    const warehouse = await open(dataDir);
    const fresh = await allChanges(warehouse.database, known, 100);
    applyChanges(follower, fresh);
    known = fresh.at(-1)?.n ?? known;
    expect(sorted(follower)).toEqual(sorted(await mirrorCopy(warehouse.database)));
    next = Number((await warehouse.scopeStates())[0]?.cursor) + 1;
    // Of each commit, 20 rows changed and one is new; of the first one, all are new.
    expect(known).toBe(21 * next);
    await warehouse.close();
    expect(readdirSync(dataDir).sort()).toEqual(["state", "warehouse.duckdb"]);
  }
});

test("a second process, and a second open in this one, are refused while the first writes", async () => {
  const dataDir = tempDir();
  const child = startChild("hold", dataDir);
  expect(await child.next()).toBe("open");
  const busy = (error: unknown) => isCode(error, "WRITER_BUSY") && error.exitCode === 6;
  await expect(open(dataDir)).rejects.toSatisfy(busy);
  await child.end();
  const warehouse = await open(dataDir);
  await expect(open(dataDir)).rejects.toSatisfy(busy);
  await warehouse.close();
});

test("the writer keeps the others out while it publishes too", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  await warehouse.database.offline(async () => {
    const child = startChild("hold", dataDir);
    // It cannot open, so it ends without a word.
    expect(await child.next()).toBeNull();
  });
  expect(await warehouse.countRows("signals")).toBe(0);
});

test("a full disk is named, loses nothing that was acknowledged, and the warehouse goes on when there is room", async () => {
  const dataDir = tempDir();
  const child = startLimitedChild(20_000, "fill", dataDir);
  expect(await child.next()).toBe("open");
  expect(await child.next()).toBe("DISK_FULL");
  const [acknowledged, rows] = String(await child.next())
    .split(" ")
    .map(Number);
  await child.end();
  expect(acknowledged).toBeGreaterThan(0);
  expect(rows).toBe(acknowledged);
  const warehouse = await aWarehouse(dataDir);
  expect(await warehouse.countRows("signals")).toBe(acknowledged);
  expect(await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(-1)], { requestId: "after" })]))).toMatchObject([
    { inserted: 1 },
  ]);
});
