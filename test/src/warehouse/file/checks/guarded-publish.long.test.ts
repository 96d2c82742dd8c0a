// What the user's checks keep from readers: a sync that would publish a broken table leaves the snapshot as it is.
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { alertsJob } from "../../../../../jobs/alerts.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { verdictOf } from "../../../../../src/core/report/verdict.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { readStatus } from "../../../../../src/warehouse/read/read-status.ts";
import { cli } from "../../../../support/cli.ts";
import { aServer, serving } from "../../../../support/served.ts";
import { aReceiver, SECRET } from "../../../alerts/a-receiver.ts";
import { anAsk, anOrg, aRedis, aWorker, reached } from "../../../queue/worker-rig.ts";
import { HERE } from "../../../server/served-mirror.ts";
import { aFolder, aGuarded, TOO_HIGH } from "./checks-rig.ts";

const UNNAMED = "-- severity: warn\nSELECT id FROM accounts WHERE name IS NULL ORDER BY id;\n";

test("rows of an error check keep the present snapshot until they are gone, and every reader hears of it", async () => {
  const { rig, snapshot, sync, set, scores, noted, clock } = await aGuarded({ "too-high.sql": TOO_HIGH });
  const first = await sync();
  expect(first).toMatchObject({ error: null, isNew: true, report: { status: "done" } });
  expect(await noted()).toEqual([
    { check: "too-high", severity: "error", status: "passed", failing: 0, sample: null, run_id: first.report.run_id },
  ]);

  set(3, { mainScore: 150 });
  for (const _ of [1, 2]) {
    const broken = await sync();
    expect(broken.error).toMatchObject({ code: "CHECK_FAILED", exitCode: 5 });
    expect(broken.error?.message).toContain("too-high");
    expect(broken).toMatchObject({
      isNew: false,
      report: { status: "partial", checks: [{ check: "too-high", severity: "error", status: "failed", failing: 1 }] },
    });
    expect(await scores()).toBe(12);
    const status = await readStatus(snapshot, { runs: 1 });
    expect(status.runs[0]).toMatchObject({ run_id: broken.report.run_id, status: "partial", error: "CHECK_FAILED" });
    expect(status.checks).toMatchObject([{ check: "too-high", status: "failed", failing: 1, sample: null }]);
    const judged = { streams: [], credits: null, lastRun: status.runs[0] ?? null, nextSyncAt: null, now: clock.now() };
    expect(verdictOf(judged)).toMatchObject({ level: "bad" });
  }

  set(3, { mainScore: 99 });
  expect(await sync()).toMatchObject({ error: null, isNew: true });
  expect(await scores()).toBe(99);
  expect((await readStatus(snapshot, { runs: 1 })).checks).toMatchObject([{ check: "too-high", status: "passed" }]);
  const runs = await rig.rows("SELECT status, error FROM sync.runs ORDER BY started_at");
  expect(runs.map(({ error }) => error)).toEqual([null, "CHECK_FAILED", "CHECK_FAILED", null]);
});

test("a sync of a worker that a check keeps back is partial, and page, metrics and an alert name the check", async () => {
  const receiver = await aReceiver();
  const org = await anOrg();
  const redis = await aRedis();
  const folder = aFolder({ "too-high.sql": "SELECT id FROM accounts WHERE main_score > 1000" });
  const alerts = JSON.stringify([
    { name: "a", event: "check_failed", url_env: "URL", secret_env: "SECRET", allow_private: true },
  ]);
  const config = org.config(redis, {
    ...{ DUCKMIRROR_CHECKS: folder, DUCKMIRROR_ALERTS: alerts, URL: receiver.url, SECRET },
    DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B",
  });
  const { triggers } = await aWorker(redis, [config]);
  const synced = async () => reached(triggers, (await triggers.start(anAsk({ streams: ["accounts"] }))).runId);
  expect(await synced()).toMatchObject({ state: "done" });
  const server = await aServer(serving(join(org.dataDir, "warehouse.duckdb")));
  const get = (url: string) => server.app.inject({ url, headers: HERE });
  const passes = 'duckmirror_check_passes{profile="default",check="too-high",severity="error"}';
  expect((await get("/metrics")).body).toContain(`${passes} 1`);

  writeFileSync(join(folder, "too-high.sql"), TOO_HIGH.replace("> 100", ">= 0"));
  Object.assign(org.service.data.accounts[0] ?? {}, { mainScore: 7, updatedAt: new Date().toISOString() });
  const kept = await synced();
  expect(kept).toMatchObject({ state: "partial", error: { code: "CHECK_FAILED" } });
  expect(kept.report).toMatchObject({ checks: [{ check: "too-high", status: "failed" }] });
  const overview = (await get("/api/status")).json();
  expect(overview).toMatchObject({
    runs: [{ run_id: kept.runId, status: "partial", error: "CHECK_FAILED" }, {}],
    checks: [{ check: "too-high", severity: "error", status: "failed" }],
  });
  const { body } = await get("/metrics");
  expect(body).toContain(`${passes} 0`);
  expect(body).toMatch(/duckmirror_check_failing_rows\{[^}]*check="too-high"[^}]*\} [1-9]/);
  await alertsJob(config, [], {
    clock: systemClock,
    random: () => 0,
    signal: new AbortController().signal,
    query: runQuery,
  });
  expect(receiver.received.flatMap(({ body: sent }) => sent.data.events)).toMatchObject([
    { type: "check.failed", key: "too-high", row: { keeps_snapshot: true } },
  ]);
});

test("rows of a warning are published, counted and named by their keys", async () => {
  const { rig, sync, set, noted } = await aGuarded({ "unnamed.sql": UNNAMED });
  set(4, { name: null });
  set(7, { name: null });
  expect(await sync()).toMatchObject({ error: null, isNew: true, report: { status: "done" } });
  expect(await noted()).toMatchObject([
    { check: "unnamed", severity: "warn", status: "failed", failing: 2, sample: '[{"id":4},{"id":7}]' },
  ]);
  expect(rig.events).toContainEqual(
    expect.objectContaining({ kind: "note", level: "warn", text: expect.stringContaining("check unnamed: 2 rows") }),
  );
});

test("checks that cannot run are named by their files and stop nothing", async () => {
  const { sync, noted } = await aGuarded({
    "a-syntax.sql": "SELEKT 1",
    "b-no-table.sql": "SELECT * FROM acounts",
    "c-writes.sql": "DELETE FROM accounts",
    "d-reads-a-file.sql": "SELECT * FROM read_text('/etc/passwd')",
    "e-severity.sql": "-- severity: fatal\nSELECT 1",
    "too-high.sql": TOO_HIGH,
  });
  const { report, error, isNew } = await sync();
  expect(isNew).toBe(true);
  expect(error).toMatchObject({ code: "CHECK_BROKEN", exitCode: 5 });
  const details = { "a-syntax": /syntax error/, "b-no-table": /acounts/, "c-writes": /./, "d-reads-a-file": /./ };
  const broken = Object.entries({ ...details, "e-severity": /severity/ });
  for (const [name] of broken) expect(error?.message).toContain(name);
  expect(report.status).toBe("partial");
  expect(report.checks).toMatchObject([
    ...broken.map(([check]) => ({ check, status: "broken", failing: null })),
    { check: "too-high", status: "passed", failing: 0 },
  ]);
  expect(await noted()).toMatchObject([
    ...broken.map(([check, detail]) => ({ check, status: "broken", sample: expect.stringMatching(detail) })),
    { check: "too-high", status: "passed" },
  ]);
});

test("a check that breaks on a row names the kind of error, and only check-data shows the value", async () => {
  const files = { "a-number.sql": "SELECT id, CAST(name AS INTEGER) AS n FROM accounts" };
  const { folder, rig, sync, set, noted } = await aGuarded(files);
  set(2, { name: "Secret Name Ltd" });
  const { error } = await sync();
  expect(error?.code).toBe("CHECK_BROKEN");
  expect(error?.message).toContain("a-number (Conversion Error in a row");
  const [stored] = await noted();
  expect(stored).toMatchObject({ check: "a-number", status: "broken" });
  expect(JSON.stringify([error?.message, stored])).not.toMatch(/Secret Name|Could not convert/);
  const env = { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_CHECKS: folder };
  expect((await cli(["check-data"], { env })).out).toContain("Could not convert string");
});

test("a folder that is not there stops nothing either, and without the setting no result remains", async () => {
  const { folder, rig, sync, noted, set } = await aGuarded({ "too-high.sql": TOO_HIGH });
  renameSync(folder, `${folder}-away`);
  const { error } = await sync();
  expect(error).toMatchObject({ code: "CHECK_BROKEN" });
  expect(error?.message).toContain(folder);
  renameSync(`${folder}-away`, folder);
  set(1, { mainScore: 50 });
  await rig.sync({ streams: ["accounts"] }, { DUCKMIRROR_CHECKS: aFolder({}) });
  expect(await noted()).toEqual([]);
});

test("an interruption ends a slow check within seconds; nothing is published, and the next sync makes up for it", async () => {
  const slow = "SELECT x FROM range(1000000000000) AS numbers(x) WHERE hash(x) = 1";
  const { folder, rig, sync, set, scores } = await aGuarded({ "slow.sql": slow });
  const stop = new AbortController();
  const { push } = rig.events;
  // The lists have ended; the checks come next.
  rig.events.push = (...events) => {
    if (events.some(({ kind }) => kind === "stream-finished")) stop.abort(new DuckmirrorError("INTERRUPTED"));
    return push.apply(rig.events, events);
  };
  set(3, { mainScore: 98 });
  const before = performance.now();
  const { error, report } = await rig.sync({ streams: ["accounts"] }, {}, stop.signal);
  expect(performance.now() - before).toBeLessThan(20_000);
  expect(error?.code).toBe("INTERRUPTED");
  expect(report.status).toBe("partial");
  expect(existsSync(join(rig.dataDir, "warehouse.duckdb"))).toBe(false);
  writeFileSync(join(folder, "slow.sql"), "SELECT id FROM accounts WHERE main_score > 99");
  expect(await sync()).toMatchObject({ error: null, isNew: true });
  expect(await scores()).toBe(98);
});

test("an erasure reaches readers although a check fails, which the sync reports all the same", async () => {
  const { rig, sync, set } = await aGuarded({ "too-high.sql": TOO_HIGH });
  await sync();
  set(3, { mainScore: 150 });
  const scope = { DUCKMIRROR_SCOPE: JSON.stringify({ accounts: { ids: [1, 2, 3] } }) };
  const ids = async () => (await rig.rows("SELECT id FROM accounts ORDER BY id")).map(({ id }) => id);
  await rig.sync({ streams: ["accounts"] }, scope);
  expect(await ids()).toHaveLength(12);
  const { error, report } = await rig.sync({ streams: ["accounts"], full: true, eraseOutside: true }, scope);
  expect(error?.code).toBe("CHECK_FAILED");
  expect(report.status).toBe("partial");
  expect(await ids()).toEqual([1, 2, 3]);
  expect((await readStatus(join(rig.dataDir, "warehouse.duckdb"), { runs: 1 })).checks).toMatchObject([
    { check: "too-high", status: "failed" },
  ]);
});

test("check-data shows the rows that keep the snapshot, publishes nothing, and --init writes checks that run", async () => {
  const { folder, rig, sync, set, scores } = await aGuarded({ "too-high.sql": TOO_HIGH });
  await sync();
  set(5, { mainScore: 101 });
  await sync();
  const env = { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_CHECKS: folder };
  const shown = await cli(["check-data", "--json"], { env });
  expect(shown.code).toBe(5);
  expect(JSON.parse(shown.out)).toMatchObject({
    checks: [{ check: "too-high", status: "failed", failing: 1, sample: [{ id: 5, main_score: 101 }] }],
    error: { code: "CHECK_FAILED" },
  });
  expect((await cli(["check-data"], { env })).out).toContain('too-high: {"id":5,"main_score":101}');
  expect(await scores()).toBe(12);

  const starters = join(folder, "starters");
  expect((await cli(["check-data", "--init", starters], { env })).code).toBe(0);
  const ran = await cli(["check-data", "--json"], { env: { ...env, DUCKMIRROR_CHECKS: starters } });
  const { checks } = JSON.parse(ran.out);
  expect(checks.map(({ check, status }: { check: string; status: string }) => [check, status === "broken"])).toEqual(
    ["freshness", "keys", "references", "row-counts", "values"].map((name) => [name, false]),
  );
  expect(await cli(["check-data"], { env: { DUCKMIRROR_DATA_DIR: rig.dataDir } })).toMatchObject({
    code: 2,
    err: expect.stringContaining("CHECKS_MISSING"),
  });
});
