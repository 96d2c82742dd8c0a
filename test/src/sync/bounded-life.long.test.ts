// A mirror that syncs once a day for months, in simulated time: its ledger stops growing, sums since it began do not fall,
// and a replay, which brings back what was removed, is followed by a sync as usual. Shows P41.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { sqlText } from "../../../src/warehouse/duckdb/sql-files.ts";
import { replayOf } from "../../support/equal-replay.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { allChanges } from "../../support/feed.ts";
import { simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
/** The fewest days that are kept. */
const KEPT_DAYS = 31;

const iso = (ms: number) => new Date(ms).toISOString();
const ok = (data: unknown, more: object = {}) => ({ status: 200, body: { data, meta: { page: 1, ...more } } });

/** A service whose period ends ten days from now and which lists a request a day. */
const aService = (now: () => number, start: number): FakeService => {
  const usage = (path: string, query: Readonly<Record<string, string>>) => {
    if (path === "/v1/usage/requests") {
      const days = Math.floor((now() - start) / DAY_MS) + 1;
      const rows = Array.from({ length: days }, (_, id) => ({ id: id + 1, occurredAt: iso(start + id * DAY_MS) }));
      const wanted = rows.filter(({ occurredAt }) => query.from === undefined || occurredAt >= query.from).reverse();
      return ok(wanted, { totalCount: wanted.length, perPage: 100 });
    }
    if (path !== "/v1/usage") return undefined;
    const quota = { limit: 1000, used: 1, remaining: 999, resetsAt: iso(now() + 10 * DAY_MS) };
    const breakdown = [{ key: "/v1/accounts", requests: 1, successful: 1, failed: 0 }];
    return ok({ window: "monthly", totals: { requests: 1, successful: 1, failed: 0 }, quota, breakdown });
  };
  return createFakeService(anOrganization(1), { before: ({ path, query }) => usage(path, query) });
};

const LEDGER = ["sync.runs", "sync.requests", "usage_snapshots", "usage_breakdown", "usage_requests"];
const count = z.object({ n: z.number() });
const total = z.object({ requests: z.number() });

test("after the days to keep, the ledger of a daily sync has the size that it has for ever", {
  timeout: 240_000,
}, async () => {
  const clock = simulatedClock();
  const start = clock.now();
  const env = {
    DUCKMIRROR_STREAMS: "signals,usage",
    DUCKMIRROR_LEDGER_RETENTION_DAYS: "1",
    DUCKMIRROR_MAX_AGE: "usage=1h",
  };
  const rig = await startSyncRig(aService(clock.now, start), env, clock);
  const onSnapshot = async <T>(work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<T>) => {
    const database = await openDatabase(join(rig.dataDir, "warehouse.duckdb"), { readOnly: true, threads: 1 });
    return work(database).finally(() => database.close());
  };
  const sizes = () =>
    onSnapshot(async (database) => {
      const found: Record<string, number> = {};
      for (const table of LEDGER) {
        found[table] = (await database.query(`SELECT count(*) AS n FROM ${table}`, [], count))[0]?.n ?? 0;
      }
      return found;
    });
  const requests = () =>
    onSnapshot(async (database) => {
      const outcomes = await database.query(sqlText("server/requests-by-outcome.sql"), [], total);
      return outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
    });
  const counted: number[] = [];
  const syncOn = async (day: number) => {
    await clock.sleep(start + day * DAY_MS - clock.now());
    expect((await rig.sync()).error).toBeNull();
    counted.push(await requests());
  };
  for (let day = 0; day <= KEPT_DAYS + 4; day += 1) await syncOn(day);
  const settled = await sizes();
  for (let day = KEPT_DAYS + 5; day <= KEPT_DAYS + 14; day += 1) await syncOn(day);
  expect(await sizes()).toEqual(settled);
  expect(settled["sync.runs"]).toBeLessThanOrEqual(KEPT_DAYS + 1);
  expect(counted).toEqual([...counted].sort((a, b) => a - b));
  const changes = await onSnapshot((database) => allChanges(database, 0));

  for (let times = 0; times < 2; times += 1) {
    await replayOf(rig.dataDir, { env, clock });
    await clock.sleep(60_000);
    // A replay brings back what was removed, and removes the copy that an earlier one left.
    expect((await sizes())["sync.runs"]).toBe(counted.length);
    expect(readdirSync(join(rig.dataDir, "state")).filter((name) => name.endsWith(".old"))).toHaveLength(1);
  }
  expect(await requests()).toBe(counted.at(-1));
  expect((await onSnapshot((database) => allChanges(database, 0))).map(({ n }) => n)).toEqual(
    changes.map(({ n }) => n),
  );
  await syncOn(KEPT_DAYS + 15);
  expect(await sizes()).toEqual(settled);
  await syncOn(KEPT_DAYS + 47);
  expect(readdirSync(join(rig.dataDir, "state")).filter((name) => name.endsWith(".old"))).toEqual([]);
  expect(counted).toEqual([...counted].sort((a, b) => a - b));
});
