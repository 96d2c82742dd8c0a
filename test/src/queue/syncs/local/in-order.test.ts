// Syncs of a worker in one process: one after another for each profile, and never after their deadline.
import { expect, test } from "vitest";
import { createManualClock, settled } from "../../../../../bench/rates/manual-clock.ts";
import { createOrder, type Entry } from "../../../../../src/queue/syncs/local/local-triggers.ts";
import { aReport } from "../../../../support/reports.ts";
import { config, syncOf } from "../../requests/a-sync-request.ts";

const rig = () => {
  const clock = createManualClock(0);
  const stopping = new AbortController();
  const running = new Map<Entry, { end(): Promise<void>; fail(error: unknown): Promise<void> }>();
  const ended: (readonly [Entry, string])[] = [];
  const order = createOrder(
    {
      carryOut: (entry) => {
        if (entry.outcome !== null) return Promise.resolve();
        entry.isStarted = true;
        return new Promise<void>((resolve, reject) => {
          const over = (settle: () => void) => () => {
            running.delete(entry);
            settle();
            return settled();
          };
          running.set(entry, { end: over(resolve), fail: (error) => over(() => reject(error))() });
        });
      },
      endWith: (entry, { code }) => {
        entry.outcome = { report: aReport({}), problem: null };
        ended.push([entry, code]);
      },
    },
    { clock, stopping: stopping.signal },
  );
  const add = async (profile: string, dueAt: number | null = null): Promise<Entry> => {
    const entry: Entry = {
      sync: syncOf({}),
      config: { ...config, profile },
      cancel: new AbortController(),
      isStarted: false,
      dueAt,
      startedAt: null,
      outcome: null,
    };
    order.add(entry);
    await settled();
    return entry;
  };
  return { clock, stopping, order, add, ended, running, isRunning: (entry: Entry) => running.has(entry) };
};

test("a sync that still waits at its deadline ends there and never starts", async () => {
  const { add, clock, running, isRunning, ended } = rig();
  const [first, late] = [await add("north"), await add("north", 1_000)];
  await clock.advance(999);
  expect(ended).toEqual([]);
  await clock.advance(1);
  expect(ended.map(([entry]) => entry)).toEqual([late]);
  await running.get(first)?.end();
  expect(isRunning(late)).toBe(false);
});

test("a deadline that another caller moves while the sync waits is heeded", async () => {
  const { add, clock, ended } = rig();
  await add("north");
  const waiting = await add("north", 1_000);
  waiting.dueAt = 5_000;
  await clock.advance(1_000);
  expect(ended).toEqual([]);
  await clock.advance(4_000);
  expect(ended.map(([entry]) => entry)).toEqual([waiting]);
});

test("a running sync is left alone at its deadline, and so is a cancelled one", async () => {
  const { add, clock, ended } = rig();
  await add("north", 1_000);
  const cancelled = await add("north", 1_000);
  cancelled.cancel.abort();
  await clock.advance(10_000);
  expect(ended).toEqual([]);
});

test("when the worker stops, no deadline is waited for any more", async () => {
  const { add, clock, stopping, ended } = rig();
  await add("north");
  await add("north", 1_000);
  stopping.abort();
  await settled();
  expect(clock.sleeping()).toBe(0);
  expect(ended).toEqual([]);
});

test("all syncs have ended when the last one of each profile has", async () => {
  const { add, order, running } = rig();
  const [first, second] = [await add("north"), await add("south")];
  let all = false;
  const waiting = order.allEnded().then(() => {
    all = true;
  });
  await running.get(first)?.end();
  expect(all).toBe(false);
  await running.get(second)?.end();
  await waiting;
  expect(all).toBe(true);
});
