// Kills of the program while it writes files that others read. Shows P27 and P28.
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { isCode } from "../../../src/core/errors.ts";
import { openWarehouse } from "../../../src/warehouse/file/warehouse.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../support/feed.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, oneRow, rowsOf } from "./builders.ts";
import { startChild, startLimitedChild } from "./child.ts";
import { tempDir } from "./temp-dir.ts";

const open = (dataDir: string) => openWarehouse({ dataDir, clock: systemClock });

test("kill -9 between and inside commits loses nothing that was acknowledged, and no cursor passes its rows", async () => {
  const dataDir = tempDir();
  let next = 0;
  for (const acknowledged of [1, 4, 9, 2, 14, 6]) {
    const child = startChild("commit", dataDir, String(next));
    expect(await child.next()).toBe("open");
    let last = -1;
    for (let i = 0; i < acknowledged; i++) last = Number(await child.next());
    await child.kill();
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
  }
});

test("kill -9 at any moment neither loses nor doubles a number of the change feed", async () => {
  const dataDir = tempDir();
  let next = 0;
  let known = 0;
  const follower: Copy = new Map();
  for (const acknowledged of [2, 5, 1, 7]) {
    const child = startChild("publish", dataDir, String(next));
    await child.next();
    for (let i = 0; i < acknowledged; i++) next = Number(await child.next()) + 1;
    await child.kill();
    const warehouse = await open(dataDir);
    const fresh = await allChanges(warehouse.database, known, 100);
    applyChanges(follower, fresh);
    known = fresh.at(-1)?.n ?? known;
    expect(sorted(follower)).toEqual(sorted(await mirrorCopy(warehouse.database)));
    next = Number((await warehouse.scopeStates())[0]?.cursor) + 1;
    // Of each commit, 20 rows changed and one is new; of the first one, all are new.
    expect(known).toBe(21 * next);
    await warehouse.close();
  }
});

test("kill -9 during publish leaves a whole snapshot, and the next open removes the leftover", async () => {
  const dataDir = tempDir();
  let next = 0;
  for (let round = 0; round < 4; round++) {
    const child = startChild("publish", dataDir, String(next));
    await child.next();
    for (let i = 0; i <= round; i++) next = Number(await child.next()) + 1;
    await child.kill();
    const snapshot = join(dataDir, "warehouse.duckdb");
    const { rows } = await runQuery({ snapshot, sql: "SELECT count(*) FROM signals WHERE id >= 1000" });
    expect(Number(rows[0]?.[0])).toBeGreaterThanOrEqual(next);
    const warehouse = await open(dataDir);
    next = Number((await warehouse.scopeStates())[0]?.cursor) + 1;
    await warehouse.close();
    expect(readdirSync(dataDir).sort()).toEqual(["state", "warehouse.duckdb"]);
  }
});

test("a temporary file that a killed publish left is removed", async () => {
  const dataDir = tempDir();
  writeFileSync(join(dataDir, ".warehouse.duckdb.new"), "half");
  await aWarehouse(dataDir);
  expect(existsSync(join(dataDir, ".warehouse.duckdb.new"))).toBe(false);
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

test("a killed writer's lock does not block the next one", async () => {
  const dataDir = tempDir();
  const child = startChild("hold", dataDir);
  await child.next();
  await child.kill();
  expect(existsSync(join(dataDir, "state", "writer.lock"))).toBe(true);
  const warehouse = await open(dataDir);
  await warehouse.close();
});

test("directories and files are for their owner only", async () => {
  const dataDir = join(tempDir(), "data");
  const warehouse = await open(dataDir);
  onTestFinished(() => warehouse.close());
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)])]));
  await warehouse.publish();
  const mode = (path: string) => statSync(join(dataDir, path)).mode & 0o777;
  expect([mode("."), mode("state"), mode("state/archive")]).toEqual([0o700, 0o700, 0o700]);
  expect([mode("warehouse.duckdb"), mode("state/working.duckdb"), mode("state/writer.lock")]).toEqual([
    0o600, 0o600, 0o600,
  ]);
});

test("a working file that is not a database is named as corrupt, and the lock is given back", async () => {
  const dataDir = tempDir();
  const warehouse = await open(dataDir);
  await warehouse.close();
  writeFileSync(join(dataDir, "state", "working.duckdb"), "this is no database ".repeat(1000));
  for (let i = 0; i < 2; i++) {
    await expect(open(dataDir)).rejects.toSatisfy((error) => isCode(error, "WAREHOUSE_CORRUPT"));
  }
});

test("a data directory that cannot be made is named", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");
  await expect(open(join(file, "data"))).rejects.toSatisfy((error) => isCode(error, "DATA_DIR_UNWRITABLE"));
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
