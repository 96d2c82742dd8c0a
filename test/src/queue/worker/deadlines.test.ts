// Deadlines, with Redis and without: a sync ends when its time is over, wherever it is, keeps what it has committed, and
// says so.

import { describe, expect, test } from "vitest";
import { untilAborted } from "../../../../src/core/async/waiting.ts";
import { type Clock, systemClock } from "../../../../src/core/clock.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aFleet, anAsk, anAskedFleet, aWorker, aWorkerOf, reached, WAYS } from "../worker-rig.ts";

const SPENT = { code: "DURATION_SPENT" };

/** The machine's clock, but an hour passes when the test says so. */
const anHour = () => {
  let pass = () => {};
  let passed = Promise.resolve();
  const begin = () => {
    passed = new Promise((resolve) => {
      pass = resolve;
    });
  };
  begin();
  const clock: Clock = {
    now: systemClock.now,
    sleep: (ms, signal) => (ms < 3_000_000 ? systemClock.sleep(ms, signal) : untilAborted(passed, signal)),
  };
  const end = () => {
    pass();
    begin();
  };
  return { clock, end };
};
const WITHIN_AN_HOUR = { DUCKMIRROR_SYNC_TIMEOUT: "1h" };

describe("a sync whose deadline is over", () => {
  test("while it runs ends with what it committed, and the next one goes on from there", async () => {
    const { redis, org, profiles } = await aFleet(WITHIN_AN_HOUR);
    const release = org.hold("/v1/contacts");
    const hour = anHour();
    const { triggers, events } = await aWorker(redis, profiles, { clock: hour.clock });
    const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"] }));
    const loaded = { kind: "page", stream: "accounts", rows: 3 };
    await expect
      .poll(() => events, { timeout: 60_000 })
      .toContainEqual({ runId, event: expect.objectContaining(loaded) });
    hour.end();
    const sync = await reached(triggers, runId);
    expect(sync).toMatchObject({ state: "stopped", error: SPENT, report: { status: "stopped", run_id: runId } });
    expect(await org.rows("SELECT count(*)::INTEGER FROM accounts")).toEqual([[3]]);
    expect(await org.rows("SELECT status, error FROM sync.runs")).toEqual([["stopped", "DURATION_SPENT"]]);
    release();
    const paidBefore = org.service.log.filter(({ path }) => path === "/v1/accounts").length;
    const next = await triggers.start(anAsk({ streams: ["contacts"] }));
    expect((await reached(triggers, next.runId)).state).toBe("done");
    expect(await org.rows("SELECT count(*)::INTEGER FROM contacts")).toEqual([[12]]);
    expect(org.service.log.filter(({ path }) => path === "/v1/accounts")).toHaveLength(paidBefore);
  });

  test("of an ask counts its waiting: one that no worker takes is shown as ended, and never starts", async () => {
    const { address, org, profiles, triggers, queues } = await anAskedFleet();
    const { runId } = await triggers.start(anAsk({ streams: ["accounts"], timeoutMs: 200 }));
    expect(await reached(triggers, runId)).toMatchObject({ state: "stopped", error: SPENT });
    await aWorker(address, profiles);
    await expect.poll(() => queues.sync.getCompletedCount(), { timeout: 60_000 }).toBe(1);
    expect(await triggers.find(runId)).toMatchObject({ state: "stopped", error: SPENT, report: { status: "stopped" } });
    expect(org.service.log).toEqual([]);
  });

  test("that Redis cannot be asked about ends all the same, and says so when Redis is back", async () => {
    const { redis, org, profiles } = await aFleet(WITHIN_AN_HOUR);
    org.hold();
    const hour = anHour();
    const runs: AbortSignal[] = [];
    const onRun = (signal: AbortSignal) => void runs.push(signal);
    const { triggers } = await aWorker(redis, profiles, { clock: hour.clock, onRun });
    const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
    await expect.poll(() => runs.length, { timeout: 60_000 }).toBe(1);
    redis.pause();
    hour.end();
    await expect.poll(() => runs[0]?.reason, { timeout: 60_000 }).toMatchObject(SPENT);
    redis.resume();
    expect(await reached(triggers, runId)).toMatchObject({ state: "stopped", error: SPENT });
  });
});

describe.each(WAYS)("%s", (way) => {
  test("a sync behind another one of its profile ends in time, and the other one goes on until its own time is over", async () => {
    const { org, asking } = await aWorkerOf(way, { env: { DUCKMIRROR_SYNC_TIMEOUT: "5s" } });
    org.hold();
    const first = await asking.start(anAsk({ streams: ["accounts"] }));
    await reached(asking, first.runId, ["running"]);
    const second = await asking.start(anAsk({ streams: ["contacts"], timeoutMs: 100 }));
    const spent = { state: "stopped", error: SPENT };
    expect(await reached(asking, second.runId)).toMatchObject(spent);
    expect((await asking.find(first.runId))?.state).toBe("running");
    expect(await reached(asking, first.runId)).toMatchObject({ ...spent, report: { status: "stopped" } });
    const never = { status: "stopped", requests: 0, credits: { spent: 0 } };
    expect(await asking.find(second.runId)).toMatchObject({ ...spent, report: never });
  });

  test("any process sees how far a sync is, that its worker lives and its deadline, and nothing of that once it has ended", async () => {
    const { org, asking, redis } = await aWorkerOf(way);
    const release = org.hold("/v1/contacts");
    const ask = anAsk({ streams: ["accounts", "contacts"], timeoutMs: 3_600_000 });
    const { runId } = await asking.start(ask);
    const progress = async () => (await asking.find(runId))?.progress;
    const reading = expect.objectContaining({ stream: "accounts", state: "reading", rows: 3 });
    await expect
      .poll(progress, { timeout: 60_000 })
      .toMatchObject({ run_id: runId, streams: expect.arrayContaining([reading]) });
    const first = (await progress())?.heartbeat_at ?? 0;
    await expect.poll(async () => (await progress())?.heartbeat_at, { timeout: 60_000 }).toBeGreaterThan(first);
    expect((await asking.find(runId))?.dueAt).toBeGreaterThan(Date.now());
    release();
    expect(await reached(asking, runId)).not.toHaveProperty("progress");
    await expect
      .poll(async () => (await redis?.keys("{duckmirror}:progress:*")) ?? [], { timeout: 60_000 })
      .toEqual([]);
  });
});

test("an ask that joins a sync which waits gives it more time, never less", async () => {
  const { triggers } = await anAskedFleet();
  const ask = anAsk({ streams: ["accounts"] });
  const first = await triggers.start({ ...ask, timeoutMs: 60_000 });
  const firstDue = (await triggers.find(first.runId))?.dueAt ?? 0;
  expect(await triggers.start({ ...ask, timeoutMs: 1_000 })).toEqual({ runId: first.runId, joined: true });
  expect(Math.abs(((await triggers.find(first.runId))?.dueAt ?? 0) - firstDue)).toBeLessThan(1_000);
  await triggers.start({ ...ask, timeoutMs: 3_600_000 });
  expect((await triggers.find(first.runId))?.dueAt).toBeGreaterThan(firstDue + 3_000_000);
  await triggers.start(ask);
  expect((await triggers.find(first.runId))?.dueAt).toBeNull();
});

test("more time that is given while a sync waits for a worker that is free holds after its start", async () => {
  const { orgs, address, profiles, queues } = await anAskedFleet({ DUCKMIRROR_MAX_SYNCS: "1" }, ["busy", "waits"]);
  const releases = orgs.map((org) => org.hold());
  const { triggers } = await aWorker(address, profiles);
  const busy = await triggers.start(anAsk({ profile: "busy", streams: ["accounts"] }));
  await reached(triggers, busy.runId, ["running"]);
  const ask = anAsk({ profile: "waits", streams: ["accounts"] });
  const askedAt = Date.now();
  const first = await triggers.start({ ...ask, timeoutMs: 1_500 });
  await expect.poll(() => queues.sync.getWaitingCount(), { timeout: 60_000 }).toBe(1);
  expect(await triggers.start({ ...ask, timeoutMs: 3_600_000 })).toEqual({ runId: first.runId, joined: true });
  releases[0]?.();
  await reached(triggers, first.runId, ["running"]);
  const due = (await triggers.find(first.runId))?.dueAt ?? 0;
  expect(due).toBeGreaterThan(Date.now() + 3_000_000);
  // The time that was left at first is over.
  await expect.poll(() => Date.now(), { timeout: 10_000 }).toBeGreaterThan(askedAt + 2_500);
  expect((await triggers.find(first.runId))?.state).toBe("running");
  releases[1]?.();
  expect((await reached(triggers, first.runId)).state).toBe("done");
});

test("the deadline of a sync is kept until its end is: nobody joins one that is over", async () => {
  const { address, profiles, triggers, redis: client } = await anAskedFleet();
  const monitor = await client.duplicate().monitor();
  monitor.on("error", () => undefined);
  afterTest(async () => monitor.disconnect());
  const seen: string[] = [];
  monitor.on("monitor", (_time: string, args: string[]) => void seen.push(args.join(" ")));
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"], timeoutMs: 200 }));
  await reached(triggers, runId);
  await aWorker(address, profiles);
  const dropped = () => seen.findIndex((line) => line.startsWith("del ") && line.includes(`:due:${runId}`));
  await expect.poll(dropped, { timeout: 60_000 }).toBeGreaterThan(0);
  const ended = seen.findIndex((line) => line.includes("{duckmirror}:sync:completed") && line.includes("returnvalue"));
  expect(ended).toBeGreaterThan(0);
  expect(dropped()).toBeGreaterThan(ended);
});
