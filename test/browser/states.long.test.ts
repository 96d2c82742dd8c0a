// Every state of a mirror in a real browser, narrow and light, wide and dark: what the page says first, and that it is well
// drawn. Then a real first sync, which the page follows.

import { join } from "node:path";
import type { Page } from "playwright-core";
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
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { configOf } from "../support/given-config.ts";
import { aProfile, type Profile, rigForFile, type Served, snapshotAfter } from "./page-rig.ts";

const mirror = await mirrorForFile(8);
await mirror.sandbox.evolve(20);
await mirror.sync();
const publicMirror = await mirrorForFile(3, {}, "public");
const rig = await rigForFile();

interface State {
  readonly name: string;
  readonly served: () => Promise<Served>;
  /** What its first screen says. */
  readonly says: RegExp;
  /** What else it shows. */
  readonly shows?: (page: Page) => Promise<unknown>;
  /** What a click leads to. */
  readonly leads?: (page: Page) => Promise<unknown>;
  readonly paths?: readonly string[];
}

const triggers = (more: Partial<SyncTriggers> = {}): SyncTriggers => ({
  start: async () => ({ runId: "run-1", joined: false }),
  find: async () => null,
  cancel: async () => true,
  ...more,
});

/** The mirror after some statements, with a worker. */
const after = (
  statements: readonly string[],
  more: Partial<Profile> = {},
  worker: Pick<Served, "triggers"> = { triggers: triggers() },
) => ({
  served: async () => ({
    profiles: [aProfile(await snapshotAfter(mirror.snapshot, ...statements), more)],
    ...worker,
  }),
});

/** No mirror yet. */
const before = (more: Partial<Profile> = {}, worker: Pick<Served, "triggers"> = { triggers: triggers() }) => ({
  served: async () => ({ profiles: [aProfile(join(tempDir(), "warehouse.duckdb"), more)], ...worker }),
});

const aRun = (mode: string, status: string, summary: string, error: string) =>
  `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, forecast, summary, error)
   VALUES ('run-9', '${mode}', '${status}', now(), now() + INTERVAL 1 SECOND, '{"requests":3}', '${summary}', '${error}')`;

/** A contact two million times, with ids of their own. */
const TWO_MILLION = `INSERT INTO contacts SELECT c.* REPLACE (c.id || '-' || i AS id)
  FROM (SELECT * FROM contacts ORDER BY id LIMIT 1) c, range(2000000) t(i)`;

const LISTS = [
  "contacts",
  "signals",
  "accounts",
  "companies",
  "news_articles",
  "job_openings",
  "earnings_calls",
  "filings",
];

const READING = {
  stream: "accounts",
  state: "reading",
  requests: 5,
  credits: 5,
  rows: 500,
  pages_done: 5,
  pages_total: 20,
};

/** What a sync of another process notes in the data directory. */
const progress = async (): Promise<SyncProgress> => ({
  run_id: "run-1",
  started_at: Date.now() - 60_000,
  heartbeat_at: Date.now(),
  requests: 5,
  credits: 5,
  rows: 500,
  waiting: { why: "rate", until: Date.now() + 30_000 },
  streams: [READING],
});

const ownSync: RequestedSync = {
  runId: "run-1",
  state: "running",
  profile: "default",
  askedAt: Date.now() - 60_000,
  report: null,
  error: null,
  dueAt: null,
  progress: {
    ...(await progress()),
    heartbeat_at: Date.now() + 3_600_000,
    waiting: null,
    streams: [{ ...READING, pages_total: 10 }],
  },
};

const STATES: readonly State[] = [
  { name: "complete", ...after([]), says: /Complete and current as of .*Credits last until the reset/ },
  { name: "empty", ...after(LISTS.map((list) => `DELETE FROM main.${list}`)), says: /Complete and current/ },
  { name: "running", ...after([], { progress }, {}), says: /Complete and current/ },
  {
    name: "unconfirmed",
    ...after([
      "UPDATE sync.stream_state SET unconfirmed = 12, unconfirmed_because = 'the service counts 12 rows more' WHERE stream = 'contacts'",
    ]),
    says: /is incomplete: contacts/,
  },
  {
    name: "a failed list, a failed check and a failed run: bad, each with its reason",
    ...after([
      aRun("incremental", "failed", "{}", "SERVICE_UNREACHABLE"),
      "UPDATE sync.stream_state SET status = 'failed', error = 'HTTP 403' WHERE stream = 'contacts'",
      "INSERT INTO sync.checks VALUES ('too-high', 'error', 'failed', 3, NULL, 'run-1', now())",
    ]),
    says: /The last run failed \(SERVICE_UNREACHABLE\)/,
    shows: async (page) => {
      expect(await page.locator("#verdict").getAttribute("data-level")).toBe("bad");
      await page.locator("#attention li", { hasText: "contacts" }).getByText("failed", { exact: true }).waitFor();
      expect(await page.locator("#attention li", { hasText: "too-high" }).textContent()).toContain("3 rows");
    },
  },
  {
    name: "refused token",
    served: async () => ({
      profiles: [
        aProfile(await snapshotAfter(mirror.snapshot, aRun("incremental", "failed", "{}", "CREDENTIALS_REFUSED"))),
      ],
      triggers: triggers(),
      unable: () => [
        {
          profile: "default",
          code: "CREDENTIALS_REFUSED",
          message: "The service refused the token.",
          hint: "Set one.",
        },
      ],
    }),
    says: /cannot sync this profile: The service refused the token\..*Set one\./s,
  },
  {
    name: "out of credits: never green, until when, no sync to start, and a click leads to why a table is incomplete",
    ...after([
      'UPDATE main.usage_snapshots SET remaining = 0, used = "limit", resets_at = now() + INTERVAL 3 DAY',
      "DELETE FROM sync.stream_state WHERE stream IN ('signals', 'filings')",
    ]),
    says: /Out of credits until .*incomplete: .*signals/,
    shows: async (page) => {
      expect(await page.locator("#verdict").getAttribute("data-level")).not.toBe("good");
      expect(await page.locator("#credits-left").getAttribute("class")).toContain("bad");
      expect(await page.locator("#credits-forecast").textContent()).not.toContain("At this pace");
      expect(await page.getByRole("button", { name: "Sync now" }).isDisabled()).toBe(true);
    },
    leads: async (page) => {
      await page.locator("#attention").getByRole("link", { name: "signals", exact: true }).click();
      await page.getByText(/^Why it is not complete: .+/).waitFor();
    },
  },
  {
    name: "public tier",
    served: async () => ({ profiles: [aProfile(publicMirror.snapshot)] }),
    says: /Complete and current|incomplete/,
    paths: ["/", "/accounts", "/tables"],
  },
  {
    name: "ten organizations",
    served: async () => ({
      profiles: Array.from({ length: 10 }, (_, at) => aProfile(mirror.snapshot, { name: `organization-${at + 1}` })),
    }),
    says: /Complete and current/,
  },
  {
    name: "two million rows",
    ...after([TWO_MILLION]),
    says: /Complete and current/,
    paths: ["/", "/tables", "/tables/contacts", "/accounts"],
  },
  {
    name: "before the first sync: three steps with their price, a button, and no error",
    ...before(),
    says: /1 credit\./,
    shows: async (page) => {
      await page.getByRole("button", { name: "Start the first sync" }).waitFor();
      expect(await page.getByRole("alert").count()).toBe(0);
    },
  },
  {
    name: "during the first sync: its share, credits and the time left",
    ...before({}, { triggers: triggers({ active: async () => [ownSync], find: async () => ownSync }) }),
    says: /50% of the known pages, 500 rows, 5 credits so far; about \d+\w+ left/,
    shows: async (page) => expect(await page.locator("#active").textContent()).toContain("reading accounts"),
  },
  {
    name: "a first sync of another process: share, credits, lists that fill",
    ...before({ name: "acme", progress }, {}),
    says: /The first sync is running.*25% of the known pages, 500 rows, 5 credits so far; about \d+\w+ left/,
    shows: async (page) => {
      expect(await page.locator("#other-sync").textContent()).toMatch(/waits for the rate limit until/);
      expect(await page.locator("#other-sync tbody tr").textContent()).toBe("accounts50055 of 20being read");
      await page.locator(".top").getByText("acme").waitFor();
    },
  },
  {
    name: "early results of a first mirror",
    ...after(["DELETE FROM sync.stream_state"], { progress }, {}),
    says: /They are unconfirmed/,
  },
  {
    name: "an alert rule that does not work needs attention, and the settings show every rule",
    ...after([], {
      alerts: async () => [
        { sent: 4, failed: 2, waiting: 1, dead: 0, name: "new-funding", works: true },
        { sent: 4, failed: 2, waiting: 1, dead: 0, name: "old-data", works: false },
      ],
    }),
    says: /old-data.*the rule does not work/,
    leads: async (page) => {
      await page.locator("#attention li", { hasText: "old-data" }).getByRole("link").click();
      await expect.poll(() => page.locator("#alerts tbody tr").first().textContent()).toBe("new-fundingworks4102");
    },
  },
  {
    name: "a verification that found differences is amber everywhere, with their number",
    ...after([aRun("verify", "done", '{"differences":291}', "VERIFY_DIFFERS")]),
    says: /The last verification found 291 differences\./,
    shows: async (page) => expect(await page.locator("#verdict").getAttribute("data-level")).toBe("warning"),
    leads: async (page) => {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).click();
      const row = page.locator("#runs tbody tr").first();
      expect(await row.textContent()).toContain("found differences 291 differences");
      expect(await row.locator(".badge").getAttribute("class")).toContain("warn");
      expect(await page.locator(".timeline button").last().getAttribute("class")).toBe("warn");
    },
  },
];

test.each(STATES)("$name", async ({ served, says, shows, leads, paths = ["/"] }) => {
  const { url } = await rig.serve(await served());
  for (const path of paths) {
    const { page } = await rig.openBoth(`${url}${path}`, async (page) => {
      if (path !== "/") return;
      await expect.poll(() => page.locator("#content").textContent()).toMatch(says);
      await shows?.(page);
    });
    await leads?.(page);
  }
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
  const token = new Secret(sandbox.token);
  const plan = async (withContent: readonly string[]) =>
    planJson(await planSnapshotJob(config, { withContent }, systemClock));
  const snapshot = join(dataDir, "warehouse.duckdb");
  const profile = aProfile(snapshot, { plan, progress: () => readProgress(dataDir, Date.now()) });
  const { page } = await rig.open((await rig.serve({ profiles: [profile] })).url);
  expect(await page.locator("#first-price").textContent()).toMatch(
    /At least \d+ credits?: how long .*accounts.* not known yet/,
  );
  const syncing = syncJob(config, {}, { ...context, signal: stop.signal, hardSignal: never, token });
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
