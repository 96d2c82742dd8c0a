// A sync without news leaves the snapshot as it is, and its readers see nevertheless when it looked.

import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publishJob } from "../../../../jobs/publish.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { looksFile, looksSince } from "../../../../src/warehouse/read/looks.ts";
import { readRun } from "../../../../src/warehouse/read/read-run.ts";
import { readStatus } from "../../../../src/warehouse/read/read-status.ts";
import { anAccount } from "../../../support/fake-data.ts";
import { configOf } from "../../../support/given-config.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { aCheckpoint, aLoad } from "../builders.ts";
import { startPublishing as start } from "./publish-rig.ts";

const HOUR_MS = 3_600_000;

test("a sync without news publishes nothing, and status knows its run, its checks and its credits", async () => {
  const { snapshot, sync, settle, rig } = await start();
  await settle();
  const before = await readStatus(snapshot, { runs: 5 });
  const working = join(rig.dataDir, "state", "working.duckdb");
  const { mtimeMs } = statSync(working);
  const { report, isNew } = await sync();
  expect(isNew).toBe(false);
  // What it committed stays in the WAL: moving it into the file would write a hundred times its size.
  expect(statSync(working).mtimeMs).toBe(mtimeMs);
  expect(statSync(`${working}.wal`).size).toBeGreaterThan(0);
  expect(rig.events.at(-1)).toEqual({ kind: "looked", path: snapshot });
  const after = await readStatus(snapshot, { runs: 5 });
  expect(after.runs[0]).toMatchObject({ run_id: report.run_id, status: "done", requests: report.requests });
  expect(after.runs[0]?.credits).toBe(report.credits.spent);
  const oldest = (status: typeof before) =>
    status.streams.find(({ stream }) => stream === "signals")?.oldest_checked_at ?? 0;
  expect(oldest(after)).toBeGreaterThanOrEqual(oldest(before) + 60_000);
  const due = (status: typeof before) => status.streams.find(({ stream }) => stream === "signals")?.due_at ?? 0;
  expect(due(after)).toBeGreaterThanOrEqual(due(before) + 60_000);
  expect(after.spending.credits?.remaining).toBe(report.credits.remaining);
  expect(after.spending.credits?.spentByOthers).toBe(0);
  // The ledger in the working file has everything, and the next snapshot will have it.
  expect((await readRun(snapshot, report.run_id))?.report?.run_id).toBe(report.run_id);
  expect(await rig.rows(`select * from sync.runs where run_id = '${report.run_id}'`)).toEqual([]);
  // What a worker reports of it needs no publish either.
  const config = configOf(null, { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: rig.dataDir });
  const ended = { syncId: report.run_id, full: false, results: [{ report, problem: null }], problem: null };
  const context = { clock: simulatedClock(), signal: new AbortController().signal };
  const { ino } = statSync(snapshot);
  const outcome = await publishJob(config, { ...ended, streams: ["accounts"] }, context);
  expect([outcome.report.status, statSync(snapshot).ino]).toEqual(["done", ino]);
});

test("it publishes nevertheless when the snapshot is old, small, or has many looks", async () => {
  const { clock, sync, settle, rig } = await start();
  await settle();
  await clock.sleep(6 * HOUR_MS);
  expect((await sync()).isNew).toBe(true);
  await settle();
  await sync();
  const [head, ...lines] = readFileSync(looksFile(rig.dataDir), "utf8").split("\n");
  const look = lines.findLast((line) => line !== "");
  writeFileSync(looksFile(rig.dataDir), [head, ...Array<string>(100).fill(look ?? "")].join("\n"));
  expect((await sync()).isNew).toBe(true);
  const small = { DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "32MiB", DUCKMIRROR_PUBLISH_UNCHANGED_EVERY: "0s" };
  expect((await sync(small)).isNew).toBe(true);
});

test("a look that was cut off, a missing file, another snapshot or a kill lose no news", async () => {
  const { service, clock, snapshot, sync, settle, rig } = await start();
  await settle();
  await sync();
  appendFileSync(looksFile(rig.dataDir), '{"run":{"run_id":"cut');
  const { report, isNew } = await sync();
  expect(isNew).toBe(false);
  expect(looksSince(snapshot).at(-1)?.run.run_id).toBe(report.run_id);
  rmSync(looksFile(rig.dataDir));
  expect((await sync()).isNew).toBe(true);
  service.data.accounts.push(anAccount(99));
  expect((await sync()).isNew).toBe(true);
  expect(await rig.rows("select name from accounts where id = 99")).toHaveLength(1);
  // Nor does a process that is killed after its commits, before its publish: the next sync publishes them, although it finds nothing.
  service.data.accounts.push(anAccount(98));
  const warehouse = await openWarehouse({ dataDir: rig.dataDir, clock });
  await warehouse.commit(
    aCheckpoint([
      aLoad("accounts", [{ ...anAccount(98) } as JsonObject], { stream: "accounts", receivedAt: clock.now() }),
    ]),
  );
  await warehouse.close();
  expect((await sync()).isNew).toBe(true);
  expect(await rig.rows("select id from accounts where id = 98")).toHaveLength(1);
});
