// Syncs of one mirror by two workers: the second pays for nothing that the home has, and each job begins with its state. Shows P33.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backupJob, restoreJob } from "../../jobs/backup.ts";
import { checkDataJob } from "../../jobs/check-data.ts";
import { deliverJob } from "../../jobs/deliver.ts";
import { exportAll } from "../../jobs/export.ts";
import { followJob } from "../../jobs/following.ts";
import { forgetJob } from "../../jobs/forget.ts";
import { planJob } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { homeStatus } from "../../src/deliver/home/mirror-home.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { cli } from "../support/cli.ts";
import { replayOf } from "../support/equal-replay.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf as givenConfig } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startSyncRig } from "../support/sync-rig.ts";

const STREAMS = ["accounts", "contacts", "signals"];

const start = async () => {
  const home = join(tempDir(), "home");
  const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
  const rig = await startSyncRig(service, { DUCKMIRROR_HOME: home });
  const dirs = [rig.dataDir, join(tempDir(), "second"), join(tempDir(), "third")] as const;
  const sync = (worker: 0 | 1 | 2, more: Record<string, string> = {}) =>
    rig.sync({ streams: STREAMS }, { DUCKMIRROR_DATA_DIR: dirs[worker], ...more });
  const configOf = (worker: 0 | 1 | 2, more: Record<string, string> = {}) =>
    givenConfig(null, {
      DUCKMIRROR_BASE_URL: "https://api.example.com",
      DUCKMIRROR_DATA_DIR: dirs[worker],
      DUCKMIRROR_HOME: home,
      ...more,
    });
  return { home, service, rig, dirs, sync, configOf };
};

test("the second worker's sync costs what the first one's would have cost, and reads the lists on from there", async () => {
  const { dirs, sync } = await start();
  const first = await sync(0);
  const usual = await sync(0);
  const moved = await sync(1);
  expect(first.report.credits.spent).toBeGreaterThan(usual.report.credits.spent);
  expect(moved.report.credits.spent).toBe(usual.report.credits.spent);
  expect(moved.report.status).toBe("done");
  const back = await sync(0);
  expect(back.report.credits.spent).toBe(usual.report.credits.spent);
  expect((await dumpMirror(dirs[0]))["main.accounts"]).toEqual((await dumpMirror(dirs[1]))["main.accounts"]);
});

test("a worker that lost its disk goes on, and its mirror can be replayed", async () => {
  const { dirs, sync, home } = await start();
  await sync(0);
  const before = await dumpMirror(dirs[0]);
  rmSync(dirs[0], { recursive: true });
  await sync(0);
  const after = await dumpMirror(dirs[0]);
  for (const table of ["main.accounts", "main.contacts", "main.signals"]) expect(after[table]).toEqual(before[table]);
  await replayOf(dirs[0], { env: { DUCKMIRROR_HOME: home } });
  expect((await dumpMirror(dirs[0]))["main.signals"]).toEqual(before["main.signals"]);
});

test("what is followed, a plan, a delivery, an export and `forget` on another worker see the home's state", async () => {
  const { dirs, sync, configOf, home } = await start();
  await followJob(configOf(0), ["example.com"], systemClock);
  await sync(0);
  const request = { streams: STREAMS };
  const plan = await planJob(configOf(1), request, systemClock);
  const own = await planJob(configOf(0), request, systemClock);
  expect(plan.credits).toEqual(own.credits);
  const to = join(tempDir(), "set");
  const destinations = JSON.stringify([{ name: "files", kind: "parquet", url: to }]);
  const signal = new AbortController().signal;
  const [report] = await deliverJob(
    configOf(2, { DUCKMIRROR_DESTINATIONS: destinations }),
    { names: [], takeOver: false },
    { clock: systemClock, signal },
  );
  expect(report?.error).toBeNull();
  expect((await dumpMirror(dirs[2]))["main.accounts"]).toEqual((await dumpMirror(dirs[0]))["main.accounts"]);
  await sync(1);
  await exportAll(configOf(2, { DUCKMIRROR_EXPORT_FORMATS: "ndjson" }), signal);
  expect((await dumpMirror(dirs[2]))["sync.runs"]).toHaveLength(2);
  expect(existsSync(join(dirs[2], "export-ndjson"))).toBe(true);
  const contact = JSON.parse((await dumpMirror(dirs[0]))["main.contacts"]?.[0] ?? "{}").id;
  await forgetJob(
    configOf(1),
    { contacts: [contact], all: false, exportDirs: [] },
    { clock: systemClock, emit: () => undefined },
  );
  await sync(0);
  expect(JSON.stringify(await dumpMirror(dirs[0]))).not.toContain(contact);
  expect(await homeStatus(dirs[0], home)).toMatchObject({ behind: 0 });
});

test("a restored mirror is not overwritten by the home: the sync says what to do, and then takes the home over", async () => {
  const { dirs, sync, configOf, home } = await start();
  const context = { clock: systemClock, signal: new AbortController().signal };
  await sync(0);
  const target = join(tempDir(), "backup");
  // Of a worker that has nothing yet: the home's state is brought first.
  await backupJob(configOf(1), { target, force: false, version: "1" }, context);
  await sync(0);
  await restoreJob(configOf(2), { source: target, trust: true }, context);
  const restored = await dumpMirror(dirs[2]);
  await expect(sync(2)).rejects.toMatchObject({ code: "HOME_OTHER_STATE", exitCode: 2 });
  expect(await dumpMirror(dirs[2])).toEqual(restored);
  expect((await dumpMirror(dirs[0]))["sync.runs"]).toHaveLength(2);
  rmSync(home, { recursive: true });
  await sync(2);
  await sync(0);
  // One run in the backup, one after it, and one of the worker that follows.
  expect((await dumpMirror(dirs[0]))["sync.runs"]).toHaveLength(3);
});

test("a worker that planned before the first sync goes on with it; field rules of the first sync hold from the beginning", async () => {
  const { dirs, sync, configOf } = await start();
  const request = { streams: STREAMS };
  await planJob(configOf(1), request, systemClock);
  const rules = { DUCKMIRROR_EXCLUDE_FIELDS: "contacts.email" };
  await sync(2, rules);
  expect(JSON.parse(readFileSync(join(dirs[2], "state/field-rules.json"), "utf8"))).toMatchObject({ mixed: false });
  await sync(1, rules);
  expect((await dumpMirror(dirs[1]))["sync.runs"]).toHaveLength(2);
});

test("checks run on the home's state; a query says of which time its copy is", async () => {
  const { dirs, sync, configOf, home } = await start();
  const checks = tempDir();
  const env = { DUCKMIRROR_CHECKS: checks };
  writeFileSync(join(checks, "runs.sql"), "-- severity: error\nSELECT count(*) FROM sync.runs HAVING count(*) <> 2");
  await sync(0);
  await sync(1);
  const { signal } = new AbortController();
  await expect(checkDataJob(configOf(2, env), { clock: systemClock, signal })).resolves.toMatchObject({ error: null });
  const asked = { DUCKMIRROR_DATA_DIR: dirs[0], DUCKMIRROR_HOME: home };
  const said = await cli(["query", "SELECT count(*) AS n FROM sync.runs"], { env: asked });
  expect(said.err).toMatch(/^this copy has the state of \S+Z, .+ old; another worker may have a later one$/m);
  const quiet = await cli(["query", "SELECT 1", "--quiet"], { env: asked });
  expect([quiet.code, quiet.err]).toEqual([0, ""]);
});

test("profiles that share a home have each a folder in it; a profile's own address is taken as it is", () => {
  const file = `home: s3://acme/mirrors?region=eu-central-1
profiles:
  one: {}
  two: { home: s3://acme/elsewhere }`;
  const homeOf = (profile: string) => givenConfig(file, {}, profile).home;
  expect(homeOf("one")).toBe("s3://acme/mirrors/one?region=eu-central-1");
  expect(homeOf("two")).toBe("s3://acme/elsewhere");
  const alone = (home: string) => givenConfig(null, { DUCKMIRROR_HOME: home }).home;
  expect(alone("homes/crm")).toBe("/srv/homes/crm");
});

test("a home that cannot be reached ends the sync before it asks the service", async () => {
  const { sync, service } = await start();
  const blocked = tempDir();
  mkdirSync(blocked, { recursive: true });
  writeFileSync(join(blocked, "file"), "");
  await expect(sync(0, { DUCKMIRROR_HOME: join(blocked, "file") })).rejects.toMatchObject({
    code: "HOME_FAILED",
    exitCode: 5,
  });
  expect(service.log).toEqual([]);
});
