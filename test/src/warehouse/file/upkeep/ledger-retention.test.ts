// Retention of the ledger: what it removes, what it keeps whatever its age, and sums that do not fall.
import { expect, test } from "vitest";
import { sqlText } from "../../../../../src/warehouse/duckdb/sql-files.ts";
import { pruneLedger } from "../../../../../src/warehouse/file/upkeep/history-retention.ts";
import { allChanges, applyChanges } from "../../../../support/feed.ts";
import { aCheckpoint, aLoad, aWarehouse, oneRow, rowsOf, T0 } from "../../builders.ts";

const DAY_MS = 86_400_000;
const NOW = T0 + 1000 * DAY_MS;
const DAYS = 400;

type Mirror = Awaited<ReturnType<typeof aWarehouse>>;

const runs = `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at)
  SELECT 'run-' || n, 'incremental', CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'partial' END, day, day + INTERVAL 1 MINUTE FROM days`;
const requests = `INSERT INTO sync.requests
  SELECT 'q' || n, 'run-' || n, 'signals', '', 'listSignals', '/v1/signals', CASE WHEN n % 10 = 0 THEN NULL ELSE 200 END,
    CASE WHEN n % 10 = 0 THEN 'ambiguous' ELSE 'spent' END, 1, day, 10, 100, 20, 1, NULL, NULL, NULL, 'look' FROM days`;
const others = `INSERT INTO sync.rejects SELECT day, 'run-' || n, 'q' || n, 'signals', 'signals', 0, 'no id', '{}' FROM days;
  INSERT INTO sync.schema_drift SELECT 'signals', 'f' || n, 'unknown_field', 'string', 1, day, day, 'run-' || n FROM days;
  INSERT INTO main.usage_snapshots (captured_at, used, remaining, resets_at, _synced_at) SELECT day, n, 1000 - n, day + INTERVAL 10 DAY, day FROM days;
  INSERT INTO main.usage_breakdown (captured_at, group_by, key, requests, _synced_at) SELECT day, 'endpoint', 'e', n, day FROM days;
  INSERT INTO main.usage_limits (captured_at, data, _synced_at) SELECT day, '{}', day FROM days;
  INSERT INTO main.usage_requests (id, endpoint, _synced_at) SELECT n, 'e', day FROM days;
  INSERT INTO history.usage_requests (id, endpoint, valid_to) SELECT n, 'e', day FROM days`;

/** A mirror with a run, a request and a reading of each kind a day for `days` days from T0 on, at 06:00. */
const aLedger = async (days = 1000): Promise<Mirror> => {
  const warehouse = await aWarehouse();
  const { database } = warehouse;
  await database.run(`CREATE TABLE days AS
    SELECT n, TIMESTAMPTZ '2025-01-01 06:00:00Z' + to_days(CAST(n AS INTEGER)) AS day FROM range(${days}) AS r (n)`);
  for (const sql of [runs, requests, ...others.split(";")]) await database.run(sql);
  await database.run("DROP TABLE days");
  return warehouse;
};

const TABLES = [
  "sync.runs",
  "sync.requests",
  "sync.rejects",
  "sync.schema_drift",
  "main.usage_snapshots",
  "main.usage_breakdown",
  "main.usage_limits",
  "main.usage_requests",
  "history.usage_requests",
];
const sizes = async (warehouse: Mirror) => {
  const counts = TABLES.map((path) => `SELECT '${path}' AS path, count(*)::INTEGER AS n FROM ${path}`);
  const rows = await rowsOf(warehouse, counts.join(" UNION ALL "));
  return Object.fromEntries(rows.map(({ path, n }) => [path, n]));
};
const outcomes = (warehouse: Mirror) => rowsOf(warehouse, sqlText("server/requests-by-outcome.sql"));
const runCounts = (warehouse: Mirror) => rowsOf(warehouse, sqlText("server/runs-by-status.sql"));
const byEndpoint = (warehouse: Mirror) => rowsOf(warehouse, "SELECT * FROM marts.usage_by_endpoint ORDER BY ALL");

test("every table of the ledger keeps the last days, and sums since the mirror began stay what they were", async () => {
  const warehouse = await aLedger();
  const before = [await outcomes(warehouse), await runCounts(warehouse), await byEndpoint(warehouse)];
  await pruneLedger(warehouse.database, DAYS, NOW);
  expect(await sizes(warehouse)).toEqual(Object.fromEntries(TABLES.map((path) => [path, DAYS])));
  expect([await outcomes(warehouse), await runCounts(warehouse), await byEndpoint(warehouse)]).toEqual(before);
  expect(await oneRow(warehouse, sqlText("server/span.sql"))).toMatchObject({ runs: DAYS });
});

test("removing again, now and a hundred days later, adds nothing twice", async () => {
  const warehouse = await aLedger();
  const before = [await outcomes(warehouse), await runCounts(warehouse)];
  for (const now of [NOW, NOW, NOW + 100 * DAY_MS, NOW + 100 * DAY_MS]) {
    await pruneLedger(warehouse.database, DAYS, now);
  }
  expect(await sizes(warehouse)).toMatchObject({ "sync.requests": 300, "sync.runs": 300 });
  expect([await outcomes(warehouse), await runCounts(warehouse)]).toEqual(before);
  expect(await rowsOf(warehouse, "FROM sync.removed_requests")).toHaveLength(2);
});

test("however few days are asked for, credits of the period are counted as before", async () => {
  const warehouse = await aLedger();
  const credits = () => oneRow(warehouse, sqlText("status/credits.sql"));
  const undecided = () => rowsOf(warehouse, sqlText("status/undecided.sql"));
  const burn = () => rowsOf(warehouse, "SELECT * FROM marts.credit_burn ORDER BY day DESC LIMIT 30");
  const before = [await credits(), await undecided(), await burn()];
  await pruneLedger(warehouse.database, 1, NOW);
  expect([await credits(), await undecided(), await burn()]).toEqual(before);
  expect(await sizes(warehouse)).toMatchObject({ "sync.requests": 31 });
});

test("the period of the last reading stays, when the service has not reported the quota for long", async () => {
  const warehouse = await aLedger(100);
  const credits = () => oneRow(warehouse, sqlText("status/credits.sql"));
  const before = await credits();
  await pruneLedger(warehouse.database, 31, NOW);
  expect(await credits()).toEqual(before);
  // A month before the end of the last period.
  expect(await sizes(warehouse)).toMatchObject({ "sync.requests": 22 });
});

test("runs without an end, the newest run, and runs that forecasts learn from stay with what belongs to them", async () => {
  const warehouse = await aLedger(100);
  const { database } = warehouse;
  await database.run("DELETE FROM main.usage_snapshots");
  await database.run("UPDATE sync.runs SET status = 'running' WHERE run_id = 'run-3'");
  await database.run(`UPDATE sync.runs SET status = 'done', forecast = '{}', summary = '{}' WHERE run_id IN
    (SELECT 'run-' || n FROM range(10, 40) AS r (n))`);
  await pruneLedger(database, DAYS, NOW);
  const kept = ["run-3", ...Array.from({ length: 20 }, (_, index) => `run-${20 + index}`), "run-99"].sort();
  for (const table of ["runs", "requests", "rejects"]) {
    const rows = await rowsOf(warehouse, `SELECT run_id FROM sync.${table} ORDER BY run_id`);
    expect(rows.map(({ run_id }) => run_id)).toEqual(kept);
  }
});

test("the last reading of each kind stays, however old", async () => {
  const warehouse = await aLedger(10);
  await warehouse.database.run("UPDATE main.usage_snapshots SET resets_at = NULL");
  await pruneLedger(warehouse.database, DAYS, NOW);
  const last = { "main.usage_snapshots": 1, "main.usage_breakdown": 1, "main.usage_limits": 1 };
  expect(await sizes(warehouse)).toMatchObject({ ...last, "main.usage_requests": 1, "history.usage_requests": 0 });
  const [, service] = await byEndpoint(warehouse);
  expect(service).toMatchObject({ source: "service", requests: 9 });
});

test("the change feed keeps its numbers; what is removed has no values there, and a reader skips it", async () => {
  const warehouse = await aWarehouse();
  const reading = (day: number) => ({
    capturedAt: T0 + day * DAY_MS,
    limit: 10,
    used: day,
    remaining: 10 - day,
    resetsAt: null,
  });
  await warehouse.commit(aCheckpoint([], { quota: reading(0) }));
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "a" }])]));
  await warehouse.commit(aCheckpoint([], { quota: reading(1) }));
  await pruneLedger(warehouse.database, DAYS, NOW);
  const all = await allChanges(warehouse.database, 0);
  expect(all).toMatchObject([
    { n: 1, table: "usage_snapshots", change: "insert", before: null, after: null },
    { n: 2, table: "contacts", after: { id: "a" } },
    { n: 3, table: "usage_snapshots", after: { used: 1 } },
  ]);
  const copy = new Map();
  applyChanges(copy, all);
  expect(copy.size).toBe(2);
});
