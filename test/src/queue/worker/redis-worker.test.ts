// The worker on BullMQ: syncs asked for run once, join each other, are cancelled, fail in part, and are handed on.

import { describe, expect, test, vi } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { syncReportSchema } from "../../../../src/core/report/sync-report.ts";
import { createScrubber } from "../../../../src/core/secret.ts";
import { deadLetters, retryDeadLetter } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { anAccount } from "../../../support/fake-data.ts";
import {
  aFleet,
  anAsk,
  anOrg,
  aRedis,
  aWorker,
  aWorkerOf,
  reached,
  someTriggers,
  synced,
  WAYS,
} from "../worker-rig.ts";

const runsOf = (events: readonly { readonly event: { readonly kind: string }; readonly runId: string }[]) =>
  events.filter(({ event }) => event.kind === "run-started").map(({ runId }) => runId);

describe("a sync that was asked for", () => {
  test("mirrors everything in one run and gives its report", async () => {
    const { redis, org, profiles } = await aFleet();
    const { triggers, events } = await aWorker(redis, profiles);
    const { runId, joined } = await triggers.start(anAsk());
    expect(joined).toBe(false);
    const sync = await reached(triggers, runId);
    expect(sync).toMatchObject({ runId, state: "done", profile: "default", error: null });
    const report = syncReportSchema.parse(sync.report);
    expect(report).toMatchObject({ run_id: runId, status: "done", mode: "full" });
    expect(report.streams.map(({ stream, inserted }) => [stream, inserted])).toContainEqual(["contacts", 12]);
    expect(runsOf(events)).toEqual([runId]);
    expect(await org.rows("SELECT run_id, status FROM sync.runs")).toEqual([[runId, "done"]]);
    expect(report.credits.spent).toBe(org.service.spent());
  });

  test("after a change in the service holds it, though an earlier sync has read past it and still runs", async () => {
    const { redis, org, profiles } = await aFleet();
    const { triggers } = await aWorker(redis, profiles);
    const release = org.hold("/v1/signals");
    const first = await triggers.start(anAsk({ streams: ["accounts", "signals"] }));
    await expect
      .poll(() => org.service.log.some(({ path }) => path === "/v1/accounts"), { timeout: 30_000 })
      .toBe(true);
    org.service.data.accounts.push(anAccount(99));
    const second = await triggers.start(anAsk({ streams: ["accounts"] }));
    expect(second.joined).toBe(false);
    release();
    expect((await reached(triggers, first.runId)).state).toBe("done");
    expect((await reached(triggers, second.runId)).state).toBe("done");
    expect(await org.rows("SELECT count(*)::INTEGER FROM accounts WHERE id = 99")).toEqual([[1]]);
  });

  test("twice with one key, also at the same moment, is one sync, even after it has ended", async () => {
    const { redis, profiles } = await aFleet();
    const { triggers } = await aWorker(redis, profiles);
    const ask = anAsk({ streams: ["accounts"], idempotencyKey: "nightly" });
    const both = await Promise.all([triggers.start(ask), triggers.start(ask)]);
    expect(both.map(({ joined }) => joined).sort()).toEqual([false, true]);
    await reached(triggers, both[0].runId);
    expect(await triggers.start(ask)).toEqual({ runId: both[0].runId, joined: true });
    expect(both[0].runId).toBe(both[1].runId);
    // It lasts a day, and its text, which could be anything, is not in Redis.
    const { redis: client } = await someTriggers(redis, []);
    const [key = ""] = await client.keys("{duckmirror}:asked:*");
    expect(key).not.toContain("nightly");
    expect(await client.ttl(key)).toBeGreaterThan(86_000);
  });

  test("with one key for two profiles is two syncs", async () => {
    const redis = await aRedis();
    const org = await anOrg();
    const profiles = ["north", "south"].map((profile) => ({ ...org.config(redis), profile }));
    const { triggers } = await someTriggers(redis, profiles);
    const ask = (profile: string) => triggers.start(anAsk({ profile, idempotencyKey: "nightly" }));
    const [north, south] = [await ask("north"), await ask("south")];
    expect(south.joined).toBe(false);
    expect(south.runId).not.toBe(north.runId);
  });

  test("again with the key of a sync that nobody remembers is a new sync, not one to be waited for in vain", async () => {
    const { redis, profiles } = await aFleet();
    const { triggers, queues } = await someTriggers(redis, profiles);
    const ask = anAsk({ streams: ["accounts"], idempotencyKey: "nightly" });
    const first = await triggers.start(ask);
    await queues.sync.remove(first.runId);
    const again = await triggers.start(ask);
    expect([again.joined, again.runId === first.runId]).toEqual([false, false]);
    expect((await triggers.find(again.runId))?.state).toBe("queued");
  });

  test("that ends between the two reads of a look at it is found with its report", async () => {
    const { redis, org, profiles } = await aFleet();
    const release = org.hold();
    const worker = await aWorker(redis, profiles);
    const { triggers, queues } = await someTriggers(redis, profiles);
    const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
    await reached(worker.triggers, runId, ["running"]);
    let reads = 0;
    /** After the first read, whichever it is, the sync ends before the second one. */
    const endsAfterFirst = async <T>(read: () => Promise<T>): Promise<T> => {
      const found = await read();
      reads += 1;
      if (reads === 1) {
        release();
        await reached(worker.triggers, runId);
      }
      return found;
    };
    const { sync: queue } = queues;
    const [getJob, getJobState] = [queue.getJob.bind(queue), queue.getJobState.bind(queue)];
    vi.spyOn(queue, "getJob").mockImplementation((id) => endsAfterFirst(() => getJob(id)));
    vi.spyOn(queue, "getJobState").mockImplementation((id) => endsAfterFirst(() => getJobState(id)));
    expect((await triggers.find(runId))?.state).toBe("running");
    expect(reads).toBe(2);
    expect(await triggers.find(runId)).toMatchObject({ state: "done", report: { status: "done" } });
  });

  test("stopped by its allowance is no failure and says why", async () => {
    const { redis, profiles } = await aFleet({ DUCKMIRROR_MAX_CREDITS: "3" });
    const { triggers } = await aWorker(redis, profiles);
    expect(await synced(triggers)).toMatchObject({ state: "stopped", error: { code: "BUDGET_SPENT" } });
    const { queues } = await someTriggers(redis, []);
    expect(await deadLetters(queues)).toEqual([]);
  });
});

describe("a sync that fails", () => {
  test("in part leaves one dead letter without secrets, its other streams go on, and it can be retried", async () => {
    const { redis, org, profiles } = await aFleet();
    org.service.options = {
      ...org.service.options,
      before: ({ path }) =>
        path.startsWith("/v1/contacts") ? { status: 418, body: { error: { message: "no test-token" } } } : undefined,
    };
    const { triggers } = await aWorker(redis, profiles);
    const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"] }));
    const sync = await reached(triggers, runId);
    expect(sync).toMatchObject({ state: "partial", error: { code: "STREAMS_FAILED" } });
    expect(syncReportSchema.parse(sync.report).streams).toMatchObject([
      { stream: "accounts", status: "done" },
      { stream: "contacts", status: "failed" },
    ]);
    const { queues, redis: client } = await someTriggers(redis, []);
    const [letter] = await deadLetters(queues);
    expect(letter).toMatchObject({
      id: runId,
      profile: "default",
      runId,
      problem: { code: "STREAMS_FAILED" },
    });
    const kept = JSON.stringify(await client.hgetall(`{duckmirror}:sync:${runId}`));
    expect(kept).not.toContain("test-token");
    expect(kept).not.toContain("node_modules");

    org.service.options = { ...org.service.options, before: () => undefined };
    const again = await retryDeadLetter(queues, triggers, runId);
    expect(await reached(triggers, again ?? "")).toMatchObject({ state: "done" });
    expect(await org.rows("SELECT count(*)::INTEGER FROM contacts")).toEqual([[12]]);
    expect(await deadLetters(queues)).toEqual([]);
  });

  test("by a fault of ours reports it without the secret that was in its message", async () => {
    const { redis, profiles } = await aFleet();
    const scrubber = createScrubber();
    scrubber.hide("hunter2hunter2");
    const { triggers } = await aWorker(redis, profiles, {
      scrubber,
      run: () => async () => {
        throw new DuckmirrorError("DISK_FULL", { detail: "/data/hunter2hunter2" });
      },
    });
    const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
    const sync = await reached(triggers, runId);
    expect(sync.state).toBe("failed");
    const { queues, redis: client } = await someTriggers(redis, []);
    expect((await deadLetters(queues)).map(({ problem }) => problem?.message)).toContain(
      "The disk is full: …/[hidden]",
    );
    for (const key of await client.keys("*")) {
      if ((await client.type(key)) === "hash")
        expect(JSON.stringify(await client.hgetall(key))).not.toContain("hunter2");
    }
  });
});

describe.each(WAYS)("%s", (way) => {
  test("asks join what covers them, wait behind what does not, and a key means one sync; what does not exist is refused", async () => {
    const runs: AbortSignal[] = [];
    const { org, asking: triggers } = await aWorkerOf(way, { onRun: (signal) => void runs.push(signal) });
    const release = org.hold();
    const first = await triggers.start(anAsk({ streams: ["accounts", "signals"], idempotencyKey: "a" }));
    const same = anAsk({ streams: ["signals", "accounts"], idempotencyKey: "a" });
    expect(await triggers.start(same)).toEqual({ runId: first.runId, joined: true });
    await reached(triggers, first.runId, ["running"]);
    // It may have read the signals already: only a tick joins it.
    const tick = anAsk({ streams: ["signals"], scheduled: true });
    expect(await triggers.start(tick)).toEqual({ runId: first.runId, joined: true });
    const second = await triggers.start(anAsk({ streams: ["contacts", "signals"] }));
    expect(second.joined).toBe(false);
    expect(await triggers.start(anAsk({ streams: ["signals"] }))).toEqual({ runId: second.runId, joined: true });
    expect((await triggers.find(second.runId))?.state).toBe("queued");
    const full = await triggers.start(anAsk({ streams: ["contacts"], full: true }));
    expect(full.joined).toBe(false);
    const all = [first, second, full].map(({ runId }) => runId);
    expect((await triggers.active()).map(({ runId }) => runId).sort()).toEqual(all.sort());
    release();
    for (const runId of all) expect((await reached(triggers, runId)).state).toBe("done");
    expect(runs).toHaveLength(3);
    expect(await triggers.active()).toEqual([]);
    expect(await triggers.find("20200101T000000Z-nobody")).toBeNull();
    await expect(triggers.start(anAsk({ streams: ["acounts"] }))).rejects.toThrow("Did you mean accounts");
    await expect(triggers.start(anAsk({ profile: "nobody" }))).rejects.toMatchObject({ code: "PROFILE_UNKNOWN" });
  });

  test("the same key with another extent or timeout is refused, and the first sync is not disturbed", async () => {
    const { org, asking: triggers } = await aWorkerOf(way);
    const release = org.hold();
    const streams = ["accounts", "signals"];
    const first = await triggers.start(anAsk({ streams, idempotencyKey: "nightly" }));
    for (const other of [{}, { streams: ["accounts"] }, { streams, full: true }, { streams, timeoutMs: 60_000 }]) {
      const again = triggers.start(anAsk({ ...other, idempotencyKey: "nightly" }));
      await expect(again).rejects.toMatchObject({ code: "IDEMPOTENCY_REUSED", context: { run: first.runId } });
    }
    release();
    expect((await reached(triggers, first.runId)).state).toBe("done");
  });

  test("a sync under way is cancelled, from any process, and keeps what was fetched; the next one goes on from there", async () => {
    const ending: AbortSignal[] = [];
    const { org, worker, asking } = await aWorkerOf(way, { onRun: (signal) => void ending.push(signal) });
    const { triggers } = worker;
    const release = org.hold();
    const streams = ["accounts", "contacts"];
    const { runId } = await triggers.start(anAsk({ streams }));
    await expect.poll(() => ending, { timeout: 120_000 }).toHaveLength(1);
    expect(await asking.cancel(runId)).toBe(true);
    await expect.poll(() => ending[0]?.aborted, { timeout: 120_000 }).toBe(true);
    release();
    expect(await reached(triggers, runId)).toMatchObject({ state: "cancelled", report: { status: "interrupted" } });
    expect(await triggers.cancel(runId)).toBe(false);
    expect(await triggers.cancel("20200101T000000Z-nobody")).toBe(false);
    expect((await synced(triggers, { streams })).state).toBe("done");
    expect(await org.rows("SELECT count(*)::INTEGER FROM contacts")).toEqual([[12]]);
  });

  test("a sync that is cancelled while it waits never starts, and nobody joins it", async () => {
    const ending: AbortSignal[] = [];
    const { org, asking: triggers } = await aWorkerOf(way, { onRun: (signal) => void ending.push(signal) });
    const release = org.hold();
    const first = await triggers.start(anAsk({ streams: ["accounts"] }));
    await reached(triggers, first.runId, ["running"]);
    const second = await triggers.start(anAsk({ streams: ["signals"] }));
    expect(await triggers.cancel(second.runId)).toBe(true);
    const third = await triggers.start(anAsk({ streams: ["signals"] }));
    expect(third).toMatchObject({ joined: false });
    release();
    for (const { runId } of [first, second, third]) await reached(triggers, runId);
    expect((await triggers.find(second.runId))?.state).toBe("cancelled");
    expect(ending).toHaveLength(2);
  });
});
