// Waiting for a sync that was asked for: when it ends, when it is asked for again, and when the caller gives up.
import { expect, test } from "vitest";
import { untilEnded, type Waiting } from "../../../../src/cli/worker/await-sync.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { RequestedSync, TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { anAsk } from "../../queue/requests/a-sync-request.ts";

const MINUTE_MS = 60_000;
const aSync = (more: Partial<RequestedSync>): RequestedSync => ({
  runId: "run-1",
  state: "running",
  profile: "default",
  askedAt: 0,
  report: null,
  error: null,
  ...more,
});
const away = new DuckmirrorError("REDIS_UNAVAILABLE", { detail: "refused" });

/** Waits for run-1 at a worker; `find`: its state by the run and the time since the start, an error: it is away. */
const rig = (
  find: (run: string, afterMs: number) => RequestedSync | null | DuckmirrorError,
  more: Partial<Waiting> & { readonly ask?: TriggerRequest } = {},
) => {
  const clock = simulatedClock(0);
  const asked: TriggerRequest[] = [];
  const waiting: Waiting = {
    triggers: {
      find: async (run) => {
        const found = find(run, clock.now());
        if (found instanceof DuckmirrorError) throw found;
        return found;
      },
      start: async (ask) => {
        asked.push(ask);
        return { runId: `run-${asked.length + 1}`, joined: false };
      },
    },
    clock,
    signal: new AbortController().signal,
    timeoutMs: null,
    ...more,
  };
  return { clock, asked, ended: () => untilEnded("run-1", more.ask ?? anAsk({ idempotencyKey: "k" }), waiting) };
};

test("the sync is returned as soon as it has ended, whatever became of it", async () => {
  for (const state of ["done", "partial", "stopped", "failed", "cancelled"] as const) {
    const { ended } = rig((_, after) => aSync({ state: after < 3 * MINUTE_MS ? "running" : state }));
    expect(await ended()).toMatchObject({ runId: "run-1", state });
  }
});

test("a sync that nobody knows any more is asked for again, and that one is waited for", async () => {
  const again: string[] = [];
  const { ended, asked } = rig((run) => (run === "run-1" ? null : aSync({ runId: run, state: "done" })), {
    onAgain: (lost, { runId }) => void again.push(`${lost} -> ${runId}`),
  });
  expect(await ended()).toMatchObject({ runId: "run-2", state: "done" });
  expect(asked).toEqual([anAsk({ idempotencyKey: "k" })]);
  expect(again).toEqual(["run-1 -> run-2"]);
});

test("one that is asked for again gets the time that is left, under another key than the first", async () => {
  const { ended, asked } = rig(
    (run, after) => {
      if (run !== "run-1") return aSync({ runId: run, state: "done" });
      return after < MINUTE_MS ? aSync({}) : null;
    },
    { timeoutMs: 5 * MINUTE_MS },
  );
  await ended();
  // The same key with another time limit would be refused.
  expect(asked).toEqual([anAsk({ idempotencyKey: "k again run-1", timeoutMs: 4 * MINUTE_MS })]);
});

test("a pause is reported once, however long it lasts", async () => {
  const pauses: string[] = [];
  const { ended } = rig(
    (_, after) => aSync(after < MINUTE_MS ? { state: "queued", paused: true } : { state: "done" }),
    {
      onPaused: async ({ runId }) => void pauses.push(runId),
    },
  );
  await ended();
  expect(pauses).toEqual(["run-1"]);
});

test("a sync that is still under way at the deadline is no longer waited for", async () => {
  const { ended, clock } = rig(() => aSync({ dueAt: null }), { timeoutMs: 5 * MINUTE_MS });
  await expect(ended()).rejects.toMatchObject({ code: "WAIT_SPENT", exitCode: 4, context: { run: "run-1" } });
  expect(clock.now()).toBe(5 * MINUTE_MS);
});

test("a sync that ends at the deadline gets a minute to publish and report", async () => {
  const dueAt = 5 * MINUTE_MS;
  const late = rig((_, after) => aSync(after < dueAt + 30_000 ? { dueAt } : { state: "stopped" }), {
    timeoutMs: dueAt,
  });
  expect(await late.ended()).toMatchObject({ state: "stopped" });
  const never = rig(() => aSync({ dueAt }), { timeoutMs: dueAt });
  await expect(never.ended()).rejects.toMatchObject({ code: "WAIT_SPENT" });
  expect(never.clock.now()).toBe(dueAt + MINUTE_MS);
});

test("a sync to which another caller gave more time is not waited for beyond the own deadline", async () => {
  const { ended, clock } = rig(() => aSync({ dueAt: 60 * MINUTE_MS }), { timeoutMs: 5 * MINUTE_MS });
  await expect(ended()).rejects.toMatchObject({ code: "WAIT_SPENT" });
  expect(clock.now()).toBe(5 * MINUTE_MS);
});

test("a worker may be away for less than a minute, again and again", async () => {
  const { ended, asked } = rig((_, after) => {
    if (after >= 5 * MINUTE_MS) return aSync({ state: "done" });
    return after % MINUTE_MS < 55_000 ? away : aSync({});
  });
  expect(await ended()).toMatchObject({ state: "done" });
  expect(asked).toEqual([]);
});

test("a worker that stays away ends the wait with its error, soon after a minute", async () => {
  const { ended, clock } = rig(() => away);
  await expect(ended()).rejects.toBe(away);
  expect(clock.now()).toBeGreaterThan(MINUTE_MS);
  expect(clock.now()).toBeLessThan(MINUTE_MS + 2_000);
});

test("any other error ends the wait at once", async () => {
  const refused = new DuckmirrorError("PROFILE_UNKNOWN", { which: "north", detail: "" });
  const { ended, clock } = rig(() => refused);
  await expect(ended()).rejects.toBe(refused);
  expect(clock.now()).toBe(0);
});

test("an interruption ends the wait", async () => {
  const stop = new AbortController();
  const { ended } = rig(
    (_, after) => {
      if (after > MINUTE_MS) stop.abort(new DuckmirrorError("INTERRUPTED"));
      return aSync({});
    },
    { signal: stop.signal },
  );
  await expect(ended()).rejects.toMatchObject({ code: "INTERRUPTED" });
});
