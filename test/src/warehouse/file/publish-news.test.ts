// A sync without news leaves the snapshot as it is, and its readers see nevertheless when it looked.
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { FamilyEnd } from "../../../../jobs/merge-results.ts";
import { publishJob } from "../../../../jobs/publish.ts";
import { vocabulary } from "../../../../src/catalog/vocabulary.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { looksFile, looksSince } from "../../../../src/warehouse/read/looks.ts";
import { readRun } from "../../../../src/warehouse/read/read-run.ts";
import { readStatus } from "../../../../src/warehouse/read/read-status.ts";
import { aContact, anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { type SyncRig, seededRandom, simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";
import { aCheckpoint, aLoad } from "../builders.ts";

let rig: SyncRig;
afterEach(() => rig.close());

const HOUR_MS = 3_600_000;
const STREAMS = ["accounts", "contacts", "signals"];

const start = async (env: Record<string, string> = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest", credits: 10_000 });
  for (let id = 1; id <= 12; id++) {
    service.data.accounts.push(anAccount(id));
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id }));
    service.data.signals.push(aSignal(id, { accountId: id }));
  }
  const clock = simulatedClock();
  rig = await startSyncRig(service, { DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B", ...env }, clock);
  const snapshot = join(rig.dataDir, "warehouse.duckdb");
  /** Syncs, and returns how it ended and whether there is a new snapshot. */
  const sync = async () => {
    const before = statSync(snapshot, { throwIfNoEntry: false })?.ino;
    const { report, error } = await rig.sync({ streams: STREAMS });
    await clock.sleep(60_000);
    return { report, error, isNew: statSync(snapshot).ino !== before };
  };
  const settle = async () => {
    await sync();
    while ((await sync()).isNew);
  };
  return { service, clock, snapshot, sync, settle };
};

test("a sync without news publishes nothing, and status knows its run, its checks and its credits", async () => {
  const { snapshot, sync, settle } = await start();
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
  expect(after.runs[0]).toMatchObject({ runId: report.run_id, status: "done", requests: report.requests });
  expect(after.runs[0]?.credits).toBe(report.credits.spent);
  const oldest = (status: typeof before) =>
    status.streams.find(({ stream }) => stream === "signals")?.oldestCheckAt ?? 0;
  expect(oldest(after)).toBeGreaterThanOrEqual(oldest(before) + 60_000);
  expect(after.spending.credits?.remaining).toBe(report.credits.remaining);
  expect(after.spending.credits?.spentByOthers).toBe(0);
  // The ledger in the working file has everything, and the next snapshot will have it.
  expect((await readRun(snapshot, report.run_id))?.report?.run_id).toBe(report.run_id);
  expect(await rig.rows(`select * from sync.runs where run_id = '${report.run_id}'`)).toEqual([]);
});

test("what a worker reports of such a sync needs no publish either", async () => {
  const { snapshot, sync, settle } = await start();
  await settle();
  const { report } = await sync();
  const { ino } = statSync(snapshot);
  const config = resolveConfig({
    flags: {},
    env: { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: rig.dataDir },
    file: null,
    cwd: rig.dataDir,
    vocabulary: vocabulary(),
  });
  const family: FamilyEnd = { streams: ["accounts"], results: [{ report, problem: null }], problem: null };
  const clock = simulatedClock();
  const outcome = await publishJob(config, { syncId: report.run_id, full: false }, [family], { clock });
  expect(outcome.report.status).toBe("done");
  expect(statSync(snapshot).ino).toBe(ino);
});

test("it publishes nevertheless when the snapshot is old, small, or has many looks", async () => {
  const { clock, sync, settle } = await start();
  await settle();
  await clock.sleep(6 * HOUR_MS);
  expect((await sync()).isNew).toBe(true);
  await settle();
  await sync();
  const [head, ...lines] = readFileSync(looksFile(rig.dataDir), "utf8").split("\n");
  const look = lines.findLast((line) => line !== "");
  writeFileSync(looksFile(rig.dataDir), [head, ...Array<string>(100).fill(look ?? "")].join("\n"));
  expect((await sync()).isNew).toBe(true);
});

test("small snapshots are published by every sync", async () => {
  const { sync, settle } = await start({
    DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "32MiB",
    DUCKMIRROR_PUBLISH_UNCHANGED_EVERY: "0s",
  });
  await sync();
  expect((await sync()).isNew).toBe(true);
  expect(settle).toBeDefined();
});

test("a look that was cut off, a missing file or another snapshot lose no news", async () => {
  const { service, snapshot, sync, settle } = await start();
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
});

test("a commit whose publish never came is published by the next sync, although that one finds nothing", async () => {
  const { service, clock, sync, settle } = await start();
  await settle();
  service.data.accounts.push(anAccount(98));
  // A process that is killed after its commits, before its publish.
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

const SEED = 20261123;
test(`whatever changes: after each sync the snapshot holds what one published just then would (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const { service, clock, sync } = await start();
  const { accounts, contacts, signals } = service.data;
  const touch = () => new Date(clock.now()).toISOString();
  const changes: readonly (() => void)[] = [
    () => undefined,
    () => undefined,
    () => void signals.push(aSignal(1000 + signals.length, { accountId: 1, updatedAt: touch() })),
    () => void Object.assign(signals[0] ?? {}, { headline: touch(), updatedAt: touch() }),
    () => void signals.pop(),
    () => void Object.assign(accounts[1] ?? {}, { mainScore: random(), updatedAt: touch() }),
    () => void contacts.push(aContact(`q_${contacts.length}`, { accountId: 2, lastChangeDetectedAt: touch() })),
    () => void Object.assign(accounts[2] ?? {}, { newField: touch(), updatedAt: touch() }),
  ];
  let stayed = 0;
  for (let round = 0; round < 25; round++) {
    changes[Math.floor(random() * changes.length)]?.();
    const { isNew } = await sync();
    if (isNew) continue;
    stayed += 1;
    const held = await dumpMirror(rig.dataDir, "warehouse.duckdb");
    for (const [table, rows] of Object.entries(await dumpMirror(rig.dataDir))) {
      const isOwn = /^sync\.(runs|requests|stream_state|journal|audit|change|schema_drift)|usage_snapshots/.test(table);
      if (!isOwn) expect([table, held[table]]).toEqual([table, rows]);
    }
  }
  expect(stayed).toBeGreaterThan(3);
});
