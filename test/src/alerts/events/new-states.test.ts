// States of the data that rules wait for, said once when they begin and end, with the query that shows them; and what a rule would
// have said in the past.

import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { backtestAlert, testAlert } from "../../../../jobs/alerts.ts";
import type { AlertEventKind } from "../../../../src/core/config/alerts/alert-settings.ts";
import { snapshotPath } from "../../../../src/core/data-dir.ts";
import { readPublishedAt } from "../../../../src/warehouse/read/looks.ts";
import { readSnapshot } from "../../../../src/warehouse/read/mirror-reader.ts";
import { runQuery } from "../../../../src/warehouse/read/query.ts";
import { change } from "../../../support/change-mirror.ts";
import { aSignal } from "../../../support/fake-data.ts";
import { aCheckpoint, aLoad, aState } from "../../warehouse/checkpoints.ts";
import { aRule } from "../a-rule.ts";

const DAY_MS = 86_400_000;
const at = (ms: number) => `make_timestamptz(${ms * 1000})`;

/** Each query of an event runs on the snapshot, and finds something. */
const shows = async (dataDir: string, row: Readonly<Record<string, unknown>>) =>
  (await runQuery({ snapshot: `${dataDir}/warehouse.duckdb`, sql: String(row.sql) })).rows.length;

test("drift of the schema: each new difference once", async () => {
  const { dataDir, clock, config, context, run, events: pass } = await aRule({ event: "schema_drift" });
  const drift = (field: string) =>
    `INSERT INTO sync.schema_drift (table_name, field, kind, detail, run_id, occurrences, first_seen_at, last_seen_at)
     VALUES ('accounts', '${field.replaceAll("'", "''")}', 'unknown_field', '', 'r', 3, ${at(clock.now())}, ${at(clock.now())})`;
  await run(drift("o'ne"));
  const [event] = await pass();
  expect(event).toMatchObject({ type: "drift.found", key: "accounts:o'ne:unknown_field", row: { occurrences: 3 } });
  expect(await shows(dataDir, event?.row ?? {})).toBe(1);
  expect(await pass()).toEqual([]);
  await run(drift("two"));
  expect(await pass()).toMatchObject([{ type: "drift.found", key: "accounts:two:unknown_field" }]);
  const past = await backtestAlert(config, { name: "a", since: clock.now() - DAY_MS }, context);
  expect(past.map(({ key }) => key)).toEqual(["accounts:o'ne:unknown_field", "accounts:two:unknown_field"]);
  await run("DELETE FROM sync.schema_drift");
  expect((await pass()).map(({ type }) => type)).toEqual(["drift.gone", "drift.gone"]);
});

const batch = (n: number, rows: number, ms: number, change_ = "insert") =>
  `INSERT INTO sync.change_batches (first_n, last_n, "at", run_id, table_name, change)
   VALUES (${n}, ${n + rows - 1}, ${at(ms)}, 'r', 'signals', '${change_}')`;

test("unusual numbers of rows: many more than ever, none although every day had some, and never in a young mirror", async () => {
  const { dataDir, clock, config, context, run, events: pass } = await aRule({ event: "rows_unusual" });
  const now = clock.now();
  const daily = Array.from({ length: 20 }, (_, day) => batch(1 + day * 50, 50, now - (20 - day) * DAY_MS + 1000));
  await run(...daily.slice(-3), batch(5000, 4000, now - 1000));
  expect(await pass()).toEqual([]);
  await run("DELETE FROM sync.change_batches", ...daily);
  expect(await pass()).toEqual([]);
  await run(batch(5000, 4000, now - 1000));
  const [event] = await pass();
  expect(event).toMatchObject({ type: "rows.unusual", key: "signals:insert", row: { rows: 4050, busiest: 50 } });
  expect(await shows(dataDir, event?.row ?? {})).toBeGreaterThan(1);
  await run("DELETE FROM sync.change_batches WHERE first_n = 5000");
  expect(await pass()).toMatchObject([{ type: "rows.usual" }]);
  await clock.sleep(DAY_MS);
  expect(await pass()).toMatchObject([{ type: "rows.unusual", row: { rows: 0 } }]);
  // The past of the same: a burst five days ago would have been said on that day.
  await run(batch(9000, 4000, now - 5 * DAY_MS + 2000));
  const past = await backtestAlert(config, { name: "a", since: now - 8 * DAY_MS }, context);
  expect(past.map(({ type }) => type)).toEqual(["rows.unusual", "rows.usual", "rows.unusual"]);
  expect(past[0]?.at).toBe(new Date(now - 4 * DAY_MS).toISOString());
});

test("rows that could not be confirmed, until they are", async () => {
  const { dataDir, clock, events: pass } = await aRule({ event: "unconfirmed" });
  const walked = (rows: number | null) =>
    change(dataDir, (warehouse) =>
      warehouse.commit(
        aCheckpoint([], {
          scopes: [
            aState({
              status: "idle",
              checkedAt: clock.now(),
              walkedAt: clock.now(),
              unconfirmed: rows === null ? null : { rows, because: "the list shifted" },
            }),
          ],
        }),
      ),
    );
  await walked(7);
  const [event] = await pass();
  expect(event).toMatchObject({ type: "data.unconfirmed", row: { unconfirmed: 7, reason: "the list shifted" } });
  expect(await shows(dataDir, event?.row ?? {})).toBeGreaterThan(0);
  await walked(null);
  expect(await pass()).toMatchObject([{ type: "data.confirmed", key: event?.key }]);
});

test("failed checks, by their names", async () => {
  const { dataDir, run, events: pass } = await aRule({ event: "check_failed" });
  const result = (status: string) =>
    `INSERT INTO sync.checks VALUES ('keys', 'warn', '${status}', 2, NULL, 'r', ${at(0)})`;
  await run(result("passed"));
  expect(await pass()).toEqual([]);
  await run("DELETE FROM sync.checks", result("failed"));
  const [event] = await pass();
  expect(event).toMatchObject({ type: "check.failed", key: "keys", row: { failing: 2, keeps_snapshot: false } });
  expect(await shows(dataDir, event?.row ?? {})).toBe(1);
  expect(await pass()).toEqual([]);
});

/** Of the second run, a stream that it could not confirm. */
const SUMMARIES = [null, { streams: [{ stream: "signals", complete: false, reason: "shifted" }] }];

test("the past of failed runs and of a query: when it would have been said; nothing is sent", async () => {
  const { dataDir, config, context, clock, received } = await aRule({ event: "run_failed" });
  const began = clock.now();
  for (const [day, status] of (["done", "failed", "failed", "done", "partial"] as const).entries()) {
    await change(dataDir, async (warehouse) => {
      const startedAt = began + day * DAY_MS;
      await warehouse.startRun({ runId: `r${day}`, mode: "full", startedAt });
      await warehouse.finishRun(`r${day}`, {
        status,
        finishedAt: startedAt + 1,
        summary: SUMMARIES[day] ?? null,
        error: day === 4 ? "CHECK_FAILED" : null,
      });
      await warehouse.commit(aCheckpoint([aLoad("signals", [JSON.parse(JSON.stringify(aSignal(day + 1)))])]));
    });
  }
  await clock.sleep(5 * DAY_MS);
  const past = await backtestAlert(config, { name: "a", since: began - 1 }, context);
  expect(past.map(({ type, at: time }) => [type, time.slice(0, 10)])).toEqual([
    ["run.failed", "2026-11-22"],
    ["run.recovered", "2026-11-24"],
    ["run.failed", "2026-11-25"],
  ]);
  const [rule] = config.alerts;
  if (rule === undefined) throw new Error("no rule");
  const sql = "SELECT c.n, s.id FROM changes AS c JOIN main.signals AS s ON s.id = try_cast(c.key AS BIGINT)";
  const asked = { ...config, alerts: [{ ...rule, event: "changes" as const, sql }] };
  const found = await backtestAlert(asked, { name: "a", since: 0 }, context);
  expect(found.map(({ row }) => row.id)).toEqual([1, 2, 3, 4, 5]);
  const of = (event: AlertEventKind) =>
    backtestAlert({ ...config, alerts: [{ ...rule, event }] }, { name: "a", since: began - 1 }, context);
  expect(await of("unconfirmed")).toMatchObject([
    { type: "data.unconfirmed", key: "signals" },
    { type: "data.confirmed" },
  ]);
  expect(await of("check_failed")).toMatchObject([
    { type: "check.failed", row: { run_id: "r4", error: "CHECK_FAILED" } },
  ]);
  expect(await of("credits_short")).toEqual([]);
  const old = { ...config, alerts: [{ ...rule, event: "data_old" as const }] };
  await expect(backtestAlert(old, { name: "a", since: 0 }, context)).rejects.toMatchObject({ code: "USAGE" });
  expect(received).toEqual([]);
});

test("a delivery that falls behind, and one that was given up", async () => {
  const { dataDir, clock, run, events: pass, config } = await aRule({ event: "delivery_late", after: "1h" });
  await run("SELECT 1");
  expect(await pass()).toEqual([]);
  mkdirSync(`${dataDir}/state/deliveries`, { recursive: true, mode: 0o700 });
  const published = (await readSnapshot(snapshotPath(dataDir), ({ database }) => readPublishedAt(database))) ?? 0;
  // The file is newer than what it holds, as on a worker that fetched the mirror from its home.
  utimesSync(snapshotPath(dataDir), new Date(), new Date(Date.now() + 5 * 3_600_000));
  const totals = { deliveries: 1, failures: 0, ms: 1, written: 0, deleted: 0, bytes: 0 };
  const note = (publishedAt: number) => {
    const held = { n: 1, publishedAt, deliveredAt: clock.now(), ms: 1, leftOut: [] };
    writeFileSync(`${dataDir}/state/deliveries/lake.json`, JSON.stringify({ v: 1, held, failing: null, totals }), {
      mode: 0o600,
    });
  };
  Object.assign(config, { destinations: [{ name: "lake", kind: "parquet" }] });
  note(published - 2 * 3_600_000);
  expect(await pass()).toMatchObject([{ type: "delivery.late", key: "lake", row: { behind_hours: 2 } }]);
  note(published);
  expect(await pass()).toMatchObject([{ type: "delivery.caught_up", key: "lake" }]);
});

test("a heartbeat: one message per sync that ended well, none after a failure", async () => {
  const { dataDir, events: pass } = await aRule({ event: "heartbeat" });
  const ended = (runId: string, status: "done" | "failed", startedAt: number) =>
    change(dataDir, async (warehouse) => {
      await warehouse.startRun({ runId, mode: "full", startedAt });
      await warehouse.finishRun(runId, { status, finishedAt: startedAt + 1, summary: null, error: null });
    });
  await ended("a", "done", 1);
  expect(await pass()).toMatchObject([{ type: "run.ended", row: { run_id: "a", status: "done" } }]);
  expect(await pass()).toEqual([]);
  await ended("b", "failed", 10);
  expect(await pass()).toEqual([]);
  await ended("c", "done", 20);
  expect(await pass()).toMatchObject([{ row: { run_id: "c" } }]);
});

const BROKEN_CHECK = `INSERT INTO sync.checks VALUES ('[win](http://x)', 'error', 'broken', NULL, NULL, 'r', ${at(0)})`;

test("Slack gets a text", async () => {
  const rule = { event: "check_failed", format: "slack", secret_env: undefined };
  const { config, context, run, received } = await aRule(rule);
  await run(BROKEN_CHECK);
  expect(await testAlert(config, "a", context)).toMatchObject({ taken: true });
  expect(JSON.parse(received[0]?.text ?? "")).toEqual({ text: expect.stringMatching(/^\*a\*\n• /) });
});

test("Teams gets a card whose texts show no links of their own", async () => {
  const rule = { event: "check_failed", format: "teams", secret_env: undefined };
  const { config, context, run, received } = await aRule(rule);
  await run(BROKEN_CHECK);
  expect(await testAlert(config, "a", context)).toMatchObject({ taken: true });
  const card = JSON.parse(received[0]?.text ?? "");
  expect(card).toMatchObject({
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive" }],
  });
  const [head, line] = card.attachments[0].content.body;
  expect(head).toMatchObject({ type: "TextBlock", text: "a", weight: "Bolder" });
  expect(line.text).toContain("\\[win\\](http://x)");
});
