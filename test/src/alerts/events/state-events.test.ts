// States that rules wait for: said when they begin and when they are over. Read from a real snapshot.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readConditions } from "../../../../src/alerts/events/conditions.ts";
import { stateEvents } from "../../../../src/alerts/events/state-events.ts";
import { change } from "../../../support/change-mirror.ts";
import { aCheckpoint, aState, T0 } from "../../warehouse/checkpoints.ts";

const DAY_MS = 86_400_000;

const aDataDir = () => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-states-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return { dataDir, snapshot: join(dataDir, "warehouse.duckdb") };
};

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

test("a run that failed, and the one after it", async () => {
  const { dataDir, snapshot } = aDataDir();
  const failed = () => readConditions({ event: "run_failed", afterMs: 0 }, snapshot, T0);
  const run = (runId: string, status: "failed" | "done" | "stopped" | "partial", startedAt: number) =>
    change(dataDir, async (warehouse) => {
      await warehouse.startRun({ runId, mode: "full", startedAt });
      await warehouse.finishRun(runId, { status, finishedAt: startedAt + 1, summary: null, error: null });
      // A run that has not ended does not count.
      await warehouse.startRun({ runId: "running", mode: "full", startedAt: startedAt + 2 });
    });
  await run("a", "failed", 1);
  expect(await failed()).toMatchObject([{ key: "runs", row: { run_id: "a", status: "failed" } }]);
  await run("b", "stopped", 10);
  expect(await failed()).toEqual([]);
  await run("c", "partial", 20);
  expect(await failed()).toMatchObject([{ key: "runs", row: { run_id: "c" } }]);
  await run("d", "done", 30);
  expect(await failed()).toEqual([]);
});

test("data that is older than its limit by more than the rule grants", async () => {
  const { dataDir, snapshot } = aDataDir();
  await change(dataDir, async (warehouse) => {
    await warehouse.setCapability("wanted", JSON.stringify({ max_age_ms: { signals: DAY_MS } }), T0);
    await warehouse.commit(aCheckpoint([], { scopes: [aState({ status: "idle", checkedAt: T0, walkedAt: T0 })] }));
  });
  const old = (now: number) => readConditions({ event: "data_old", afterMs: DAY_MS }, snapshot, now);
  expect(await old(T0 + 2 * DAY_MS)).toEqual([]);
  expect(await old(T0 + 2 * DAY_MS + 1)).toEqual([
    { key: "signals", row: { stream: "signals", due_at: new Date(T0 + DAY_MS).toISOString() } },
  ]);
});

test("credits that end before the reset, until the reset", async () => {
  const { dataDir, snapshot } = aDataDir();
  const resetsAt = T0 + 20 * DAY_MS;
  const reading = (day: number, used: number) =>
    change(dataDir, (warehouse) =>
      warehouse.commit(
        aCheckpoint([], {
          quota: { capturedAt: T0 + day * DAY_MS, limit: 1000, used, remaining: 1000 - used, resetsAt },
        }),
      ),
    );
  const short = (day: number) => readConditions({ event: "credits_short", afterMs: 0 }, snapshot, T0 + day * DAY_MS);
  await reading(0, 0);
  expect(await short(0)).toEqual([]);
  await reading(1, 300);
  expect(await short(1)).toMatchObject([{ key: "credits", row: { remaining: 700, missing: expect.any(Number) } }]);
  expect(await short(20)).toEqual([]);
});
