// States that rules wait for, read from a snapshot and from syncs after it that found nothing new.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readConditions, stateEvents } from "../../../../src/alerts/events/conditions.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { type Look, type LookCredits, looksFile, looksHead } from "../../../../src/warehouse/read/looks.ts";
import { change } from "../../../support/change-mirror.ts";
import { aFolder } from "../../../support/cli.ts";
import { aCheckpoint, T0 } from "../../warehouse/checkpoints.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const DAY_MS = 86_400_000;

test("a state is said once when it begins and once when it is over; a new beginning has a new id", () => {
  const of = (now: number) => ({ event: "data_old", mirror: "m", rule: "r", now }) as const;
  const old = (key: string) => ({ key, row: { stream: key } });
  const first = stateEvents({}, [old("a"), old("b")], of(T0));
  expect(first.events).toMatchObject([
    { type: "data.old", key: "a", row: { stream: "a" } },
    { type: "data.old", key: "b" },
  ]);
  const still = stateEvents(first.active, [old("a"), old("b")], of(T0 + 1));
  expect(still).toEqual({ events: [], active: first.active });
  const over = stateEvents(still.active, [old("b")], of(T0 + 2));
  expect(over.events).toMatchObject([{ type: "data.fresh", key: "a", row: { since: "2025-01-01T00:00:00.000Z" } }]);
  const again = stateEvents(over.active, [old("a"), old("b")], of(T0 + 3));
  expect(again.events).toMatchObject([{ type: "data.old", key: "a" }]);
  const ids = [...first.events, ...over.events, ...again.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  // The same moment again, as after a kill: the same id.
  expect(stateEvents({}, [old("a")], of(T0)).events[0]?.id).toBe(first.events[0]?.id);
});

test("credits that end before the reset, until the reset", async () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const resetsAt = T0 + 20 * DAY_MS;
  const reading = (day: number, used: number) =>
    change(dataDir, (warehouse) =>
      warehouse.commit(
        aCheckpoint([], {
          quota: { capturedAt: T0 + day * DAY_MS, limit: 1000, used, remaining: 1000 - used, resetsAt },
        }),
      ),
    );
  const shortOn = (day: number) => readConditions({ event: "credits_short", afterMs: 0 }, snapshot, T0 + day * DAY_MS);
  await reading(0, 0);
  expect(await shortOn(0)).toEqual([]);
  await reading(1, 300);
  expect(await shortOn(1)).toMatchObject([{ key: "credits", row: { remaining: 700, missing: expect.any(Number) } }]);
  expect(await shortOn(20)).toEqual([]);
});

/** Every state has the query that shows it. */
const SHOWN = expect.stringMatching(/^SELECT .* FROM (marts|sync)\./);

const NOW = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;
const at = (ms: number) => `make_timestamptz(${ms * 1000})`;
const rule = (event: "run_failed" | "data_old" | "credits_short", afterMs = HOUR_MS) => ({ event, afterMs });

/** A snapshot with the tables that rules read, filled by `rows`. */
const aSnapshot = async (...rows: readonly string[]): Promise<string> => {
  const snapshot = join(aFolder(), "warehouse.duckdb");
  const database = await openDatabase(snapshot, { threads: 1 });
  const statements = [
    "CREATE SCHEMA sync",
    "CREATE SCHEMA marts",
    "CREATE TABLE sync.runs (run_id VARCHAR, status VARCHAR, error VARCHAR, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ)",
    `CREATE TABLE marts.freshness (table_name VARCHAR, stream VARCHAR, due_at TIMESTAMPTZ, row_count BIGINT DEFAULT 1,
       last_change_at TIMESTAMPTZ, last_checked_at TIMESTAMPTZ, oldest_checked_at TIMESTAMPTZ,
       oldest_walked_at TIMESTAMPTZ, max_age_hours DOUBLE, total_count BIGINT, scopes BIGINT DEFAULT 1,
       walking_scopes BIGINT DEFAULT 0, unchecked_scopes BIGINT DEFAULT 0, failed_scopes BIGINT DEFAULT 0, error VARCHAR,
       complete BOOLEAN DEFAULT true, unconfirmed BIGINT DEFAULT 0, unconfirmed_because VARCHAR)`,
    `CREATE TABLE marts.credit_burn (day DATE, captured_at TIMESTAMPTZ, remaining BIGINT, forecast_remaining BIGINT,
       forecast_empty_on DATE, resets_at TIMESTAMPTZ, spent_per_day DOUBLE)`,
    ...rows,
  ];
  await database.run(statements.join(";"));
  await database.close();
  return snapshot;
};
const aRun = (id: string, status: string, startedAt: number, finishedAt: number | null = startedAt + 1) =>
  `INSERT INTO sync.runs VALUES ('${id}', '${status}', 'why', ${at(startedAt)}, ${finishedAt === null ? "NULL" : at(finishedAt)})`;
const due = (table: string, stream: string, dueAt: number) =>
  `INSERT INTO marts.freshness (table_name, stream, due_at) VALUES ('${table}', '${stream}', ${at(dueAt)})`;
const credits = (day: string, forecast: number | null, resetsAt: number | null) =>
  `INSERT INTO marts.credit_burn VALUES ('${day}', ${at(NOW)}, 40, ${forecast}, '2026-11-28', ${resetsAt === null ? "NULL" : at(resetsAt)}, 10)`;

/** Syncs after the snapshot that found nothing new. */
const addLooks = (snapshot: string, looks: readonly Partial<Look>[]): void => {
  const file = looksFile(dirname(snapshot));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, looksHead(snapshot, { published_at: NOW, news: "", rewritten: { bytes: 1, rows: 1 } }), {
    mode: 0o600,
  });
  for (const look of looks) appendFileSync(file, `${JSON.stringify({ ...aLook("done"), ...look })}\n`);
};
const aLook = (status: string, tables: Look["tables"] = []): Look => ({
  run: {
    run_id: "looked",
    mode: "incremental",
    status,
    started_at: NOW,
    finished_at: NOW,
    error: null,
    summary: null,
    forecast_requests: null,
    requests: 1,
    credits: 1,
    failed_requests: 0,
  },
  tables,
  credits: null,
  checks: [],
});
const checked = (table: string, dueAt: number): Look["tables"][number] => ({
  table_name: table,
  last_checked_at: NOW,
  oldest_checked_at: NOW,
  oldest_walked_at: NOW,
  due_at: dueAt,
});

/** The failure that rules see after these runs, and after syncs that found nothing new. */
const failureAfter = async (runs: readonly string[], looks: readonly string[] = []) => {
  const ended = runs.map((status, nth) =>
    aRun(`r${nth + 1}`, status, NOW - 9 + nth, status === "running" ? null : NOW),
  );
  const snapshot = await aSnapshot(...ended);
  if (looks.length > 0)
    addLooks(
      snapshot,
      looks.map((status) => aLook(status)),
    );
  return readConditions(rule("run_failed"), snapshot, NOW);
};

test.each([
  { end: "failed", runs: ["done", "failed"], failed: "r2" },
  { end: "in part", runs: ["done", "partial"], failed: "r2" },
  { end: "well", runs: ["failed", "done"], failed: null },
  { end: "stopped", runs: ["failed", "stopped"], failed: null },
  { end: "interrupted", runs: ["failed", "interrupted"], failed: null },
  { end: "not yet: the one before counts", runs: ["failed", "running"], failed: "r1" },
  { end: "well, and found nothing new", runs: ["failed"], looks: ["failed", "done"], failed: null },
  { end: "failed, after one that found nothing new", runs: ["failed"], looks: ["done", "failed"], failed: "looked" },
])("the last run ended $end: failure of $failed", async ({ runs, looks, failed }) => {
  expect(await failureAfter(runs, looks)).toMatchObject(
    failed === null ? [] : [{ key: "runs", row: { run_id: failed } }],
  );
});

test("a failure is sent with its run, its error and the query that shows it", async () => {
  const row = { run_id: "r1", status: "failed", error: "why", started_at: new Date(NOW - 9).toISOString(), sql: SHOWN };
  expect(await failureAfter(["failed"])).toEqual([{ key: "runs", row }]);
});

test("data is old once it is due for longer than the rule allows", async () => {
  const snapshot = await aSnapshot(due("accounts", "accounts", NOW - HOUR_MS), due("signals", "signals", NOW));
  expect(await readConditions(rule("data_old"), snapshot, NOW)).toEqual([]);
  expect(await readConditions(rule("data_old"), snapshot, NOW + 1)).toEqual([
    { key: "accounts", row: { stream: "accounts", due_at: new Date(NOW - HOUR_MS).toISOString(), sql: SHOWN } },
  ]);
});

test("of a stream with several tables the one that is due first counts, and the stream is named once", async () => {
  const snapshot = await aSnapshot(
    due("usage_limits", "usage", NOW - 3 * HOUR_MS),
    due("usage_requests", "usage", NOW - 5 * HOUR_MS),
    due("usage_snapshots", "usage", NOW + HOUR_MS),
  );
  expect(await readConditions(rule("data_old"), snapshot, NOW)).toEqual([
    { key: "usage", row: { stream: "usage", due_at: new Date(NOW - 5 * HOUR_MS).toISOString(), sql: SHOWN } },
  ]);
});

test("a sync that found nothing new makes what it checked fresh, and nothing else", async () => {
  const old = NOW - 5 * HOUR_MS;
  const snapshot = await aSnapshot(due("accounts", "accounts", old), due("signals", "signals", old));
  addLooks(snapshot, [aLook("done", [checked("accounts", NOW + HOUR_MS)])]);
  const found = await readConditions(rule("data_old"), snapshot, NOW);
  expect(found.map(({ key }) => key)).toEqual(["signals"]);
});

/** Credits that are short. */
const short = (remaining: number, missing: number, emptyOn: string, resetsAt: number) => [
  {
    key: "credits",
    row: { remaining, missing, empty_on: emptyOn, resets_at: new Date(resetsAt).toISOString(), sql: SHOWN },
  },
];

test("credits are short if the newest forecast says so, and how many are missing is sent", async () => {
  const resetsAt = NOW + 9 * HOUR_MS;
  const snapshot = await aSnapshot(credits("2026-11-20", 5, resetsAt), credits("2026-11-21", -12, resetsAt));
  expect(await readConditions(rule("credits_short"), snapshot, NOW)).toEqual(short(40, 12, "2026-11-28", resetsAt));
});

test.each([
  { what: "credits that just last are", rows: [credits("2026-11-21", 0, NOW + HOUR_MS)] },
  { what: "figures of an earlier period are", rows: [credits("2026-11-21", -12, NOW)] },
  { what: "figures without a reset are", rows: [credits("2026-11-21", -12, null)] },
  { what: "figures without a forecast are", rows: [credits("2026-11-21", null, NOW + HOUR_MS)] },
  { what: "no figures are", rows: [] },
])("$what no shortage", async ({ rows }) => {
  expect(await readConditions(rule("credits_short"), await aSnapshot(...rows), NOW)).toEqual([]);
});

test("credits that others spent since are missing, although no sync found anything new to publish", async () => {
  const resetsAt = NOW + 3 * 24 * HOUR_MS;
  const snapshot = await aSnapshot(credits("2026-11-21", 10, resetsAt));
  const seen = (remaining: number, figures: Partial<LookCredits> = {}): Partial<Look> => ({
    credits: {
      credit_limit: 100,
      used: 100 - remaining,
      remaining,
      resets_at: resetsAt,
      captured_at: NOW + HOUR_MS,
      spent_here: 1,
      ambiguous_here: 0,
      late_here: 0,
      ...figures,
    },
  });
  const shown = async (...looks: readonly Partial<Look>[]) => {
    addLooks(snapshot, looks);
    return readConditions(rule("credits_short"), snapshot, NOW + HOUR_MS);
  };
  expect(await shown()).toEqual([]);
  expect(await shown(seen(30))).toEqual([]);
  // 10 a day for three days less an hour: 29.58.
  expect(await shown(seen(30), seen(12), aLook("failed"))).toEqual(short(12, 18, "2026-11-22", resetsAt));
  expect(await shown(seen(12, { captured_at: NOW - 1 }))).toEqual([]);
  expect(await shown(seen(12, { resets_at: NOW }))).toEqual([]);
});

test("a snapshot that does not exist is an error, not the absence of a problem", async () => {
  await expect(readConditions(rule("run_failed"), "/nowhere/warehouse.duckdb", NOW)).rejects.toMatchObject({
    code: "SNAPSHOT_MISSING",
  });
});
