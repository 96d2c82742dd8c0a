// What the overview says when things are not as they should be: no mirror, a first sync, no credits, differences, a failed list.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { planJson, planSnapshotJob } from "../../jobs/plan.ts";
import { syncJob } from "../../jobs/sync.ts";
import { systemClock } from "../../src/core/clock.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import type { SyncProgress } from "../../src/core/report/sync-progress.ts";
import type { RequestedSync, SyncTriggers } from "../../src/core/report/triggers.ts";
import { Secret } from "../../src/core/secret.ts";
import { readProgress } from "../../src/core/state/progress-file.ts";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { configOf } from "../support/given-config.ts";
import { expectNoSidewaysScroll, layoutShift, type OpenPage, rigForFile, seriousFindings } from "./page-rig.ts";

const mirror = await mirrorForFile(3);
const rig = await rigForFile();

/** The published file after some statements, as a snapshot of its own. */
const snapshotAfter = async (...statements: readonly string[]): Promise<string> => {
  const file = join(tempDir(), "warehouse.duckdb");
  copyFileSync(mirror.snapshot, file);
  const database = await openDatabase(file, { threads: 1 });
  for (const sql of statements) await database.run(sql);
  await database.flushWal();
  await database.close();
  return file;
};

const triggers = (more: Partial<SyncTriggers> = {}): SyncTriggers => ({
  start: async () => ({ runId: "run-1", joined: false }),
  find: async () => null,
  cancel: async () => true,
  ...more,
});

const isWell = async ({ page, complaints }: OpenPage) => {
  expect.soft(await seriousFindings(page)).toEqual([]);
  expect.soft(await layoutShift(page)).toBeLessThanOrEqual(0.02);
  await expectNoSidewaysScroll(page);
  expect.soft(complaints.filter((text) => !text.includes("503"))).toEqual([]);
};

const open = async (snapshot: string, width = 1280, withTriggers: SyncTriggers | null = triggers()) => {
  const { url } = await rig.serve({
    profiles: [{ name: "default", snapshot, ratePerMinute: 300 }],
    ...(withTriggers === null ? {} : { triggers: withTriggers }),
  });
  return rig.open(url, { width });
};

const OUT = [
  'UPDATE main.usage_snapshots SET remaining = 0, used = "limit", resets_at = now() + INTERVAL 3 DAY',
  "DELETE FROM sync.stream_state WHERE stream IN ('signals', 'filings')",
];

test("out of credits: never green, until when, no sync to start, and a click leads to why a table is incomplete", async () => {
  const opened = await open(await snapshotAfter(...OUT), 360);
  const { page } = opened;
  const verdict = page.locator("#verdict");
  expect(await verdict.textContent()).toMatch(/^Out of credits until .*incomplete: .*signals/);
  expect(await verdict.getAttribute("data-level")).not.toBe("good");
  expect(await page.locator("#credits-left").getAttribute("class")).toContain("bad");
  expect(await page.locator("#credits-forecast").textContent()).not.toContain("At this pace");
  expect(await page.getByRole("button", { name: "Sync now" }).isDisabled()).toBe(true);
  await isWell(opened);
  await page.locator("#attention").getByRole("link", { name: "signals", exact: true }).click();
  await page.getByText(/^Why it is not complete: .+/).waitFor();
});

test("before the first sync: three steps with their price, a button, and no error", async () => {
  const missing = join(tempDir(), "warehouse.duckdb");
  const opened = await open(missing, 360);
  await opened.page.locator("#first-visit").getByText("1 credit.").waitFor();
  await opened.page.getByRole("button", { name: "Start the first sync" }).waitFor();
  expect(await opened.page.getByRole("alert").count()).toBe(0);
  await isWell(opened);
});

test("during the first sync: its share, credits and the time left", async () => {
  const missing = join(tempDir(), "warehouse.duckdb");
  const started_at = Date.now() - 60_000;
  const stream = { state: "reading", requests: 5, credits: 5, rows: 500, pages_done: 5, pages_total: 10 };
  const run: RequestedSync = {
    runId: "run-1",
    state: "running",
    profile: "default",
    askedAt: started_at,
    report: null,
    error: null,
    dueAt: null,
    progress: {
      run_id: "run-1",
      started_at,
      heartbeat_at: Date.now() + 3_600_000,
      requests: 5,
      credits: 5,
      rows: 500,
      waiting: null,
      streams: [{ ...stream, stream: "accounts" }],
    },
  };
  const opened = await open(missing, 1280, triggers({ active: async () => [run], find: async () => run }));
  const under = opened.page.locator("#active");
  await expect
    .poll(() => under.textContent())
    .toMatch(/50% of the known pages, 500 rows, 5 credits so far; about \d+\w+ left/);
  await expect.poll(() => under.textContent()).toContain("reading accounts");
  await isWell(opened);
});

/** What a sync of another process notes on the data directory. */
const underWay = (streams: SyncProgress["streams"]) => async (): Promise<SyncProgress> => ({
  run_id: "run-1",
  started_at: Date.now() - 60_000,
  heartbeat_at: Date.now(),
  requests: 5,
  credits: 5,
  rows: 500,
  waiting: { why: "rate", until: Date.now() + 30_000 },
  streams,
});
const READING = { state: "reading", requests: 5, credits: 5, rows: 500, pages_done: 5, pages_total: 20 };

test("a first sync of another process: share, credits, lists that fill", async () => {
  const snapshot = join(tempDir(), "warehouse.duckdb");
  const plan = async () => ({
    requests: 42,
    at_least: true,
    unknown: ["signals", "contacts"],
    streams: [],
    content: [],
  });
  const progress = underWay([{ ...READING, stream: "accounts" }]);
  const { url } = await rig.serve({ profiles: [{ name: "acme", snapshot, ratePerMinute: 300, plan, progress }] });
  const opened = await rig.open(url, { width: 360 });
  const card = opened.page.locator("#other-sync");
  await expect
    .poll(() => card.textContent())
    .toMatch(/25% of the known pages, 500 rows, 5 credits so far; about \d+\w+ left/);
  expect(await card.textContent()).toMatch(/waits for the rate limit until/);
  expect(await card.locator("tbody tr").textContent()).toBe("accounts50055 of 20being read");
  await opened.page.locator(".top").getByText("acme").waitFor();
  await isWell(opened);
});

test("the page follows a real first sync that runs beside the server, from nothing to its early results", async () => {
  const sandbox = await startSandbox({ accounts: 12, requestsPerMinute: 1_000_000, threads: 1 });
  const dataDir = tempDir();
  const env = {
    DUCKMIRROR_BASE_URL: sandbox.url,
    DUCKMIRROR_TOKEN: sandbox.token,
    DUCKMIRROR_DATA_DIR: dataDir,
    // Ten requests, then a minute's wait, after which the first results are published.
    DUCKMIRROR_RATE_LIMIT: "10",
  };
  const config = configOf(null, env);
  const stop = new AbortController();
  const never = new AbortController().signal;
  const context = { clock: systemClock, random: Math.random, emit: () => undefined, version: "0.0.0" };
  const request = {};
  const token = new Secret(sandbox.token);
  const plan = async (withContent: readonly string[]) =>
    planJson(await planSnapshotJob(config, { ...request, withContent }, systemClock));
  const progress = () => readProgress(dataDir, Date.now());
  const snapshot = join(dataDir, "warehouse.duckdb");
  const { url } = await rig.serve({ profiles: [{ name: "default", snapshot, ratePerMinute: 10, plan, progress }] });
  const { page } = await rig.open(url);
  expect(await page.locator("#first-price").textContent()).toMatch(
    /At least \d+ credits?: how long .*accounts.* not known yet/,
  );
  const syncing = syncJob(config, request, { ...context, signal: stop.signal, hardSignal: never, token });
  await expect.poll(() => page.locator("#other-sync").count()).toBe(1);
  await expect.poll(() => page.locator("#other-sync tbody").textContent()).toMatch(/accounts\d+/);
  await page.getByText("They are unconfirmed").waitFor();
  await page.locator("#verdict").getByText("incomplete").waitFor({ timeout: 120_000 });
  expect(await page.locator("#other-sync").count()).toBe(1);
  stop.abort(new DuckmirrorError("INTERRUPTED"));
  await syncing;
  await expect.poll(() => page.locator("#other-sync").count()).toBe(0);
  await sandbox.close();
});

test("early results of a first mirror are said to be unconfirmed", async () => {
  const snapshot = await snapshotAfter("DELETE FROM sync.stream_state");
  const progress = underWay([{ ...READING, stream: "accounts" }]);
  const { url } = await rig.serve({ profiles: [{ name: "default", snapshot, ratePerMinute: 300, progress }] });
  const opened = await rig.open(url);
  await opened.page.getByText("They are unconfirmed").waitFor();
  await isWell(opened);
});

test("an alert rule that does not work needs attention, and the settings show every rule", async () => {
  const figures = { sent: 4, failed: 2, waiting: 1, dead: 0 };
  const alerts = async () => [
    { ...figures, name: "new-funding", works: true },
    { ...figures, name: "old-data", works: false },
  ];
  const { url } = await rig.serve({
    profiles: [{ name: "default", snapshot: mirror.snapshot, ratePerMinute: 300, alerts }],
  });
  const opened = await rig.open(url);
  const point = opened.page.locator("#attention li", { hasText: "old-data" });
  expect(await point.textContent()).toContain("the rule does not work");
  await point.getByRole("link").click();
  await expect.poll(() => opened.page.locator("#alerts tbody tr").first().textContent()).toBe("new-fundingworks4102");
  await isWell(opened);
});

test("a verification that found differences is amber everywhere, with their number", async () => {
  const snapshot = await snapshotAfter(
    `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, forecast, summary, error)
     VALUES ('check-9', 'verify', 'done', now(), now() + INTERVAL 1 SECOND, '{"requests":3}', '{"differences":291}', 'VERIFY_DIFFERS')`,
  );
  const opened = await open(snapshot);
  const { page } = opened;
  expect(await page.locator("#verdict").textContent()).toContain("The last verification found 291 differences.");
  expect(await page.locator("#verdict").getAttribute("data-level")).toBe("warning");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).click();
  const row = page.locator("#runs tbody tr").first();
  expect(await row.textContent()).toContain("found differences 291 differences");
  expect(await row.locator(".badge").getAttribute("class")).toContain("warn");
  expect(await page.locator(".timeline button").last().getAttribute("class")).toBe("warn");
  await isWell(opened);
});

test("a failed list is bad, and the overview names it with the reason, and a check with its rows", async () => {
  const snapshot = await snapshotAfter(
    "UPDATE sync.stream_state SET status = 'failed', error = 'HTTP 403' WHERE stream = 'contacts'",
    "INSERT INTO sync.checks VALUES ('too-high', 'error', 'failed', 3, NULL, 'run-1', now())",
  );
  const opened = await open(snapshot, 1280, null);
  expect(await opened.page.locator("#verdict").getAttribute("data-level")).toBe("bad");
  await opened.page.locator("#attention li", { hasText: "contacts" }).getByText("failed", { exact: true }).waitFor();
  expect(await opened.page.locator("#attention li", { hasText: "too-high" }).textContent()).toContain("3 rows");
  await isWell(opened);
});
