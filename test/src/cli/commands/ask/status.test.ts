// duckmirror status, on real published snapshots.
import { copyFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { STREAM_NAMES } from "../../../../../src/catalog/streams.ts";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { learnTier } from "../../../../../src/core/state/tier.ts";
import { noteDelivery } from "../../../../../src/deliver/delivery-results.ts";
import type { Warehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { change } from "../../../../support/change-mirror.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { json, startScriptedServer } from "../../../../support/scripted-server.ts";
import { aCheckpoint, aLoad, aRequest, aSignal, aState, T0 } from "../../../warehouse/checkpoints.ts";
import { dirForFile } from "../../../warehouse/temp-dir.ts";

const HOUR_MS = 3_600_000;
const clock = { now: () => T0 + 26 * HOUR_MS, sleep: () => Promise.reject(new Error("status never waits")) };

/** Two signals, a failed stream, an ambiguous request, and a quota by each of these resets. */
const history = (resets: readonly (number | null)[]) => async (warehouse: Warehouse) => {
  await warehouse.startRun({ runId: "run-1", mode: "full", startedAt: T0, forecast: { requests: 2 } });
  const load = aLoad("signals", [aSignal(1), aSignal(2), "no record"], { requestId: "r1" });
  const time = new Date(T0).toISOString();
  const account = { organizationId: "o", type: "prospect", createdAt: time, updatedAt: time };
  const accounts = [1, 2].map((id) => ({ ...account, id, companyId: `c${id}` }));
  const failed = { status: "failed", checkedAt: T0, error: "GET filings failed: status 500" } as const;
  const walked = { status: "idle", walkId: null, cursor: null, walkedAt: T0, totalCount: 2 } as const;
  await warehouse.commit(
    aCheckpoint([load, aLoad("accounts", accounts)], {
      requests: [
        aRequest("r1"),
        aRequest("r2", { status: 404, charge: "free" }),
        aRequest("r3", { status: null, charge: "ambiguous" }),
      ],
      scopes: [
        aState({ ...walked, checkedAt: T0 + 24 * HOUR_MS }),
        aState({ stream: "filings", scope: "c1", ...failed }),
        aState({ stream: "filings", scope: "c2", status: "idle", checkedAt: T0 + 25 * HOUR_MS, totalCount: 7 }),
        aState({ stream: "contacts", checkedAt: T0 }),
      ],
      quota: null,
    }),
  );
  for (const [index, resetsAt] of resets.entries()) {
    const quota = { capturedAt: T0 + (index + 1) * HOUR_MS, limit: 5000, used: 1, remaining: 4999, resetsAt };
    await warehouse.commit(aCheckpoint([], { quota }));
  }
  const ended = { status: "partial", finishedAt: T0 + 70_000, summary: null, error: "filings failed" } as const;
  await warehouse.finishRun("run-1", ended);
};

const mirror = dirForFile();
await change(mirror, history([T0 + 700 * HOUR_MS]));

const show = async (dataDir: string, ...more: readonly string[]) =>
  (await cli(["status", "--data-dir", dataDir, ...more], { clock })).out;
const statusOf = async (dataDir: string) => JSON.parse(await show(dataDir, "--json"));

describe("a mirror with a history", () => {
  test("published: when the snapshot was, whatever the date of its file says of a copy", async () => {
    const copies = aFolder();
    const copy = join(copies, "warehouse.duckdb");
    copyFileSync(join(mirror, "warehouse.duckdb"), copy);
    utimesSync(copy, new Date(T0 + 800 * HOUR_MS), new Date(T0 + 800 * HOUR_MS));
    const { published_at } = (await statusOf(mirror)).snapshot;
    expect((await statusOf(copies)).snapshot.published_at).toBe(published_at);
    expect(Date.parse(published_at)).not.toBe(T0 + 800 * HOUR_MS);
  });

  test.each([
    ["a reading without a reset keeps the one that was named before", [T0 + 700 * HOUR_MS, null], 0, "in this period"],
    ["without any reset nobody else is blamed", [null], null, "in the month before"],
    ["a reset that is over is not kept", [T0 + HOUR_MS, null], null, "in the month before"],
  ])("credits: %s", async (_, resets, others, period) => {
    const dataDir = aFolder();
    await change(dataDir, history(resets));
    const { credits } = await statusOf(dataDir);
    expect(credits).toMatchObject({ spent_here: 1, ambiguous_here: 1, spent_by_others: others });
    expect(await show(dataDir)).toContain(`1 spent by this mirror ${period}`);
  });

  test("destinations: how far each is behind the snapshot, and why deliveries to it fail", async () => {
    const dataDir = aFolder();
    copyFileSync(join(mirror, "warehouse.duckdb"), join(dataDir, "warehouse.duckdb"));
    const publishedAt = Date.parse((await statusOf(dataDir)).snapshot.published_at);
    const [crm, lake] = [
      { name: "crm", kind: "parquet", url: "copies" },
      { name: "lake", kind: "postgres", url: "postgres://hidden@db/x" },
    ];
    const env = { DUCKMIRROR_DESTINATIONS: JSON.stringify([crm, lake]) };
    const status = async (...more: readonly string[]) =>
      (await cli(["status", "--data-dir", dataDir, ...more], { clock, env })).out;
    expect(JSON.parse(await status("--json")).destinations).toMatchObject([
      { name: "crm", state: "never_delivered", behind_seconds: null },
      { name: "lake", state: "never_delivered" },
    ]);
    const now = T0 + 24 * HOUR_MS;
    const leftOut = [{ table: "news_articles", rows: 2, keys: ["k"] }];
    const delivered = { from: null, to: { mirror: "m", n: 7, mark: "" }, tables: [], leftOut, bytes: 3 };
    await noteDelivery(dataDir, "crm", { delivered, publishedAt, ms: 40, now });
    await noteDelivery(dataDir, "lake", { delivered, publishedAt: publishedAt - HOUR_MS, ms: 40, now });
    await noteDelivery(dataDir, "lake", { code: "DESTINATION_AWAY", isLast: false, now: now + HOUR_MS });
    const left_out = [{ table: "news_articles", rows: 2 }];
    expect(JSON.parse(await status("--json")).destinations).toMatchObject([
      { name: "crm", kind: "parquet", state: "up_to_date", change: 7, behind_seconds: 0, left_out, error: null },
      {
        ...{ name: "lake", state: "failing", behind_seconds: 3600, delivered_at: "2025-01-02T00:00:00.000Z" },
        ...{ error: "DESTINATION_AWAY", failing_since: "2025-01-02T01:00:00.000Z", failed_attempts: 1 },
      },
    ]);
    const shown = await status();
    expect(shown).toMatch(/crm[ │]+parquet[ │]+up to date, 2 rows of news_articles left out[ │]+no[ │]+2h ago/);
    expect(shown).toMatch(/lake[ │]+postgres[ │]+failing: DESTINATION_AWAY, 1h ago[ │]+1h[ │]+2h ago/);
    expect(shown).not.toContain("hidden");
  });

  test("as JSON: every table and stream, credits, runs and what wants a look", async () => {
    const { code, out, err } = await cli(["status", "--json", "--data-dir", mirror], { clock });
    expect([code, err]).toEqual([0, ""]);
    const status = JSON.parse(out);
    expect(status.tables.map(({ table }: { table: string }) => table)).toEqual(TABLE_NAMES);
    expect(status.streams.map(({ stream }: { stream: string }) => stream)).toEqual(STREAM_NAMES);
    expect(status.tables).toContainEqual({ table: "signals", rows: 2, last_change_at: "2025-01-01T00:00:00.000Z" });
    expect(status.tables).toContainEqual({ table: "owners", rows: 0, last_change_at: null });
    expect(status.streams).toContainEqual({
      stream: "filings",
      state: "1 of 2 failed",
      scopes: 2,
      last_check_at: "2025-01-02T01:00:00.000Z",
      oldest_check_at: "2025-01-01T00:00:00.000Z",
      oldest_walk_at: null,
      total_count: 17,
      error: "GET filings failed: status 500",
      complete: false,
      unconfirmed: null,
      reason: "1 of 2 lists: the last read failed: GET filings failed: status 500",
      worst_case_at: "2025-01-01T00:00:00.000Z",
      worst_case_because: expect.stringContaining("complete walks"),
    });
    expect(status.credits).toMatchObject({ limit: 5000, remaining: 4999, spent_here: 1, ambiguous_here: 1 });
    expect(status.runs).toEqual([
      {
        run_id: "run-1",
        mode: "full",
        status: "partial",
        started_at: "2025-01-01T00:00:00.000Z",
        finished_at: "2025-01-01T00:01:10.000Z",
        requests: 3,
        forecast_requests: 2,
        credits: 1,
        ambiguous: 1,
        error: "filings failed",
      },
    ]);
    expect(status.rejects).toBe(1);
    const { disk } = status;
    expect(disk).toMatchObject({
      bytes: { snapshot: status.snapshot.bytes, old_copies: 0, export: 0 },
      snapshot_free_share: expect.any(Number),
      archive_files: 1,
      archive_growth: { bytes: disk.bytes.journal },
    });
    const parts: Record<string, number> = disk.bytes;
    expect(disk.total_bytes).toBe(Object.values(parts).reduce((sum, bytes) => sum + bytes, 0));
    expect(status.snapshot).toMatchObject({ path: `${mirror}/warehouse.duckdb`, bytes: expect.any(Number) });
  });

  test("for people: ages, states, what failed, credits and the run", async () => {
    const out = await show(mirror);
    for (const line of [
      /disk: [\d.]+ MiB \(snapshot [\d.]+ MiB, \d+% of it free blocks; working [\d.]+ MiB; journal .*\)/,
      /archive: 1 file; it grew by [\d.]+ KiB in \d{4}-\d\d/,
      /│ signals +│ +2 │ 1d 2h ago/,
      /│ signals +│ complete +│ +1 │ 2h ago +│ 2h ago +│ 1d 2h ago/,
      /│ contacts +│ under way/,
      /│ filings +│ 1 of 2 failed │ +2 │ 1h ago +│ 1d 2h ago +│ never/,
      /│ accounts +│ never synced/,
      /filings: GET filings failed: status 500/,
      /credits: 4,999 of 5,000 left, reset 2025-01-30 04:00 UTC \(reported 1d 1h ago\); 1 spent .*, 1 more may have been/,
      /1 record could not become rows: see sync.rejects/,
      /│ run-1 │ full │ partial │ 1d 2h ago │ 1m 10s │ +3 │ +2 │ +1 │ filings failed │/,
    ])
      expect(out).toMatch(line);
  });

  test("--runs bounds how many runs are shown", async () => {
    expect(JSON.parse(await show(mirror, "--json", "--runs", "0")).runs).toEqual([]);
    expect((await cli(["status", "--runs", "some", "--data-dir", mirror])).code).toBe(2);
  });
});

test("an empty mirror has no credits and no runs to show", async () => {
  const dataDir = aFolder();
  await change(dataDir, async () => undefined);
  const { code, out } = await cli(["status", "--data-dir", dataDir]);
  expect(code).toBe(0);
  expect(out).toContain("credits: the service has not reported any yet\nno runs yet\n");
});

test("a tier that was lowered after a sync is the one that `check` shows, at once", async () => {
  const dataDir = aFolder();
  await change(dataDir, async () => undefined);
  const at = (ms: number) => ({ clock: { ...clock, now: () => ms } });
  await learnTier(dataDir, { shows: "full", because: "accounts were returned" }, T0);
  const service = await startScriptedServer();
  service.play(json({ data: [], meta: { page: 1, perPage: 1, totalCount: 0, totalPages: 0 } }));
  const env = { DUCKMIRROR_BASE_URL: service.origin, DUCKMIRROR_TOKEN: "t", DUCKMIRROR_DATA_DIR: dataDir };
  const check = JSON.parse((await cli(["check", "--json"], { env, ...at(T0 + HOUR_MS) })).out);
  await service.close();
  const status = JSON.parse((await cli(["status", "--json"], { env, ...at(T0 + 2 * HOUR_MS) })).out);
  const lowered = { tier: "public", tier_since: new Date(T0 + HOUR_MS).toISOString() };
  expect([check, status]).toMatchObject([lowered, lowered]);
  const { out } = await cli(["status"], { env });
  expect(out).toMatch(
    /^tier: public API only since \S+ \(the account list is empty, for less than a day; syncs still ask/m,
  );
});

test.each(["redis://:p%zz@127.0.0.1:6379", "redis://:100%@127.0.0.1:6379"])(
  "a percent sign in the password of Redis that escapes nothing is no fault: %s",
  async (REDIS_URL) => {
    const { err } = await cli(["status", "--data-dir", aFolder()], { env: { REDIS_URL } });
    expect(err).toMatch(/^error SNAPSHOT_MISSING/);
  },
);

test("before the first sync it says so", async () => {
  expect(await cli(["status", "--data-dir", aFolder()])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^error SNAPSHOT_MISSING: .*\nhint: Run `duckmirror sync` first/),
  });
});
