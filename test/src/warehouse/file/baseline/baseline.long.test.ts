// The baseline: the archive may lose what it covers, and replay gives the same mirror, change feed included.

import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { replayJob } from "../../../../../jobs/replay.ts";
import { readBaseline } from "../../../../../src/warehouse/file/baseline/baseline.ts";
import { openWarehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { aContact, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../../support/fake-service.ts";
import { configOf as givenConfig } from "../../../../support/given-config.ts";
import { dumpMirror } from "../../../../support/mirror-dump.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../../support/sync-rig.ts";
import { tempDir } from "../../temp-dir.ts";

let rig: SyncRig;
afterEach(() => rig.close());

/** Time between two syncs: long, so that few of them make an archive grow old. */
const STEP_MS = 3 * 86_400_000;
const STREAMS = ["accounts", "contacts", "signals"];

const start = async (env: Record<string, string> = { DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "5" }) => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest" });
  for (let id = 1; id <= 12; id++) {
    service.data.accounts.push(anAccount(id));
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id }));
    service.data.signals.push(aSignal(id, { accountId: id }));
  }
  const clock = simulatedClock();
  rig = await startSyncRig(service, env, clock);
  const state = join(rig.dataDir, "state");
  const configOf = (more: Record<string, string> = {}) =>
    givenConfig(null, { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: rig.dataDir, ...more });
  const replay = (request: { partial?: boolean; fromStart?: boolean } = {}, more: Record<string, string> = {}) =>
    replayJob(configOf(more), { partial: false, ...request }, { clock, emit: () => undefined });
  let changes = 0;
  /** Three days with a change, then a sync. */
  const step = async (more: Record<string, string> = {}) => {
    await clock.sleep(STEP_MS);
    const touched = new Date(clock.now()).toISOString();
    changes += 1;
    Object.assign(service.data.signals[changes % 12] ?? {}, { headline: `news ${changes}`, updatedAt: touched });
    service.data.signals.push(aSignal(100 + changes, { accountId: 1, updatedAt: touched }));
    if (changes % 3 === 0) service.data.signals.splice(0, 1);
    const result = await rig.sync({ streams: STREAMS }, more);
    expect(result.error).toBe(null);
    return result.report;
  };
  const steps = async (count: number) => {
    for (let index = 0; index < count; index++) await step();
  };
  const archived = () =>
    readdirSync(join(state, "archive"), { recursive: true }).filter((name) => String(name).includes("."));
  return { service, clock, state, replay, step, steps, archived };
};

test("what is older than the limit goes, and the archive grows no more", async () => {
  const { state, steps, archived } = await start();
  await steps(6);
  const files = archived().length;
  expect(await readBaseline(state)).toMatchObject({ applied: expect.any(Number) });
  await steps(5);
  expect(archived().length).toBeLessThanOrEqual(files + 3);
  expect(readdirSync(join(state, "baseline"))).toHaveLength(2);
});

test("replay starts from the baseline and gives the mirror that was, row by row and change by change", async () => {
  const { state, replay, step, steps } = await start();
  await steps(6);
  const twin = tempDir();
  cpSync(rig.dataDir, twin, { recursive: true });
  const before = await dumpMirror(rig.dataDir);
  rmSync(join(state, "working.duckdb"));
  const report = await replay();
  expect(report).toMatchObject({ baseline: expect.stringMatching(/^2026-/), missing: [] });
  expect(report.runs).toBeLessThan(6);
  expect(await dumpMirror(rig.dataDir)).toEqual(before);
  // And the next sync asks for what that of a twin asks for that was never rebuilt.
  const { requests } = await step();
  const { report: unharmed } = await rig.sync({ streams: STREAMS }, { DUCKMIRROR_DATA_DIR: twin });
  expect(requests).toBe(unharmed.requests);
});

test("replay --from-start needs the whole archive, and says when it is gone", async () => {
  const { state, replay, steps } = await start({
    DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "keep",
    DUCKMIRROR_ARCHIVE_MAX_SIZE: "keep",
  });
  await steps(2);
  expect(await readBaseline(state)).toBe(null);
  expect(await replay({ fromStart: true })).toMatchObject({ baseline: null, runs: 2 });
  await rig.close();
  const pruned = await start();
  await pruned.steps(6);
  await expect(pruned.replay({ fromStart: true })).rejects.toMatchObject({ code: "ARCHIVE_INCOMPLETE" });
});

test("a damaged baseline is named by replay, which then changes nothing, and the next pruning makes a new one", async () => {
  const { state, replay, step, steps } = await start();
  await steps(5);
  const baseline = await readBaseline(state);
  appendFileSync(baseline?.path ?? "", "x");
  const before = await dumpMirror(rig.dataDir);
  await expect(replay()).rejects.toMatchObject({ code: "BASELINE_DAMAGED" });
  expect(await dumpMirror(rig.dataDir)).toEqual(before);
  for (let more = 0; more < 6 && (await readBaseline(state))?.file === baseline?.file; more++) await step();
  expect((await readBaseline(state))?.file).not.toBe(baseline?.file);
  expect(await replay()).toMatchObject({ missing: [] });
});

test("values stored before a field was excluded are never made the baseline: only the archive can leave them out", async () => {
  const { state, replay, step, steps, archived } = await start();
  await steps(2);
  const excluded = { DUCKMIRROR_EXCLUDE_FIELDS: "signals.headline" };
  for (let index = 0; index < 4; index++) await step(excluded);
  expect(await readBaseline(state)).toBe(null);
  expect(archived().length).toBeGreaterThan(10);
  await replay({}, excluded);
  expect(await rig.rows("select count(headline) n from (from signals union all by name from history.signals)")).toEqual(
    [{ n: 0 }],
  );
  for (let index = 0; index < 4; index++) await step(excluded);
  const baseline = await readBaseline(state);
  expect(readFileSync(baseline?.path ?? "").includes("news 1")).toBe(false);
});

test("the newest journal file stays, so that an old working file is noticed", async () => {
  const { state, steps, archived } = await start({
    DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "1",
    DUCKMIRROR_ARCHIVE_MAX_SIZE: "0B",
  });
  await steps(4);
  expect(archived().some((name) => String(name).endsWith(".journal.ndjson"))).toBe(true);
  rmSync(join(state, "working.duckdb"));
  await expect(openWarehouse({ dataDir: rig.dataDir, clock: simulatedClock() })).rejects.toMatchObject({
    code: "WAREHOUSE_BEHIND",
  });
});

const SEED = 20261124;
test(`lives with changes, prunings, replays and lost working files: always the same mirror (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const { state, replay, step } = await start({ DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "2" });
  for (let round = 0; round < 12; round++) {
    await step();
    if (random() < 0.7) continue;
    const before = await dumpMirror(rig.dataDir);
    if (random() < 0.5) rmSync(join(state, "working.duckdb"));
    await replay();
    expect(await dumpMirror(rig.dataDir)).toEqual(before);
  }
  expect(existsSync(join(state, "baseline", "baseline.json"))).toBe(true);
  expect(statSync(join(state, "baseline", "baseline.json")).mode & 0o777).toBe(0o600);
});
