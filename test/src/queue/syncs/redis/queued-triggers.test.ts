// Organizations that share a Redis: a process finds and cancels the runs of its own profiles, and no others.
// A sync of each of many organizations, asked for at once: what it costs Redis and this process.
// Syncs of a part over the worker: one list anew, or what is dated after a day.
import { expect, test, vi } from "vitest";
import { mapAtOnce } from "../../../../../src/core/async/concurrency.ts";
import { deadLetters, retryDeadLetter } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { STARTS_AT_ONCE } from "../../../../../src/queue/requests/sync-requests.ts";
import {
  aFleet,
  anAsk,
  anAskedFleet,
  anOrg,
  aRedis,
  aWorker,
  reached,
  someTriggers,
  synced,
} from "../../worker-rig.ts";

// Many requests at once: they stand in line in the process that asks, and not all of them at Redis.

test("a hundred syncs that are asked for at once are one, and ask Redis for their turn about once each", async () => {
  const { triggers, redis: client } = await anAskedFleet();
  const asks = Array.from({ length: 100 }, () => triggers.start(anAsk({ streams: ["accounts"] })));
  const started = await Promise.all(asks);
  expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
  const [, calls = "0"] = /cmdstat_set:calls=(\d+)/.exec(await client.info("commandstats")) ?? [];
  // Those that have waited too long ask beside the others, which happens on a busy machine.
  expect(Number(calls)).toBeLessThan(400);
});

test("a process neither finds, lists nor cancels a run of a profile that is not one of its own", async () => {
  const server = await aRedis();
  const org = await anOrg();
  const config = org.config(server);
  const theirs = await someTriggers(server, [{ ...config, profile: "theirs" }]);
  const ours = await someTriggers(server, [{ ...config, profile: "ours" }]);
  const sync = await theirs.triggers.start(anAsk({ streams: ["accounts"] }));
  const verification = await theirs.triggers.verify?.({ profile: null });
  const runs = [sync.runId, verification?.runId ?? ""];

  for (const runId of runs) {
    expect(await ours.triggers.find(runId)).toBeNull();
    expect(await ours.triggers.cancel(runId)).toBe(false);
    expect(await theirs.triggers.find(runId)).toMatchObject({ runId, state: "queued", profile: "theirs" });
  }
  expect(await ours.triggers.active()).toEqual([]);
  expect((await theirs.triggers.active()).map(({ runId }) => runId)).toEqual(runs);

  for (const runId of runs) expect(await theirs.triggers.cancel(runId)).toBe(true);
});

const COUNT = 200;
const STREAMS = ["accounts", "signals"];
/** 41 with BullMQ 6.7, those of its scripts included. */
const MOST_COMMANDS = 44;
/** Of all profiles that are asked for at once: turns, marks, jobs, ends of turns. */
const MOST_WRITES = 5;

test("hundreds of syncs that are asked for at once share their writes and waits, and add no command", async () => {
  const server = await aRedis();
  const org = await anOrg();
  const config = org.config(server);
  const profiles = Array.from({ length: COUNT }, (_, nth) => ({ ...config, profile: `p${nth}` }));
  const { triggers, redis, queues } = await someTriggers(server, profiles);
  // The connection is ready, and BullMQ's scripts are loaded.
  await triggers.start(anAsk({ streams: STREAMS, profile: "p0" }));
  const commands = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await redis.info("stats"))?.[1] ?? Number.NaN);
  const before = await commands();
  const written = vi.spyOn(redis.stream, "write");
  const started = await mapAtOnce(profiles.slice(1), STARTS_AT_ONCE, ({ profile }) =>
    triggers.start(anAsk({ streams: STREAMS, profile })),
  );
  expect(written.mock.calls.length).toBeLessThanOrEqual((MOST_WRITES * COUNT) / STARTS_AT_ONCE);
  written.mockRestore();
  expect((await commands()) - before).toBeLessThanOrEqual(MOST_COMMANDS * COUNT);
  expect(new Set(started.filter(({ joined }) => !joined).map(({ runId }) => runId)).size).toBe(COUNT - 1);
  expect(await queues.sync.getJobCountByTypes("waiting")).toBe(COUNT);

  // A command that Redis refuses fails its requests with the reason.
  await redis.config("SET", "maxmemory", "1");
  const refused = triggers.start(anAsk({ streams: STREAMS, profile: "p0" }));
  await expect(refused).rejects.toMatchObject({ code: "REDIS_FULL" });
});

const listsOf = (log: readonly { readonly path: string }[]) => new Set(log.map(({ path }) => path));

test("a list is read anew although a sync waits, and no request for it is lost: it joins only its like", async () => {
  const { redis, org, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  await synced(triggers, { streams: ["accounts", "signals"] });
  const elsewhere = await someTriggers(redis, profiles);
  await elsewhere.queues.sync.pause();
  const plain = await triggers.start(anAsk());
  const reset = await triggers.start(anAsk({ reset: ["signals"], idempotencyKey: "k" }));
  expect(reset.joined).toBe(false);
  expect(await elsewhere.triggers.start(anAsk({ reset: ["signals"] }))).toEqual({ ...reset, joined: true });
  expect(await triggers.start(anAsk({ streams: ["signals"] }))).toEqual({ ...plain, joined: true });
  await expect(triggers.start(anAsk({ idempotencyKey: "k" }))).rejects.toMatchObject({ code: "IDEMPOTENCY_REUSED" });
  await triggers.cancel(plain.runId);
  org.service.log.length = 0;
  await elsewhere.queues.sync.resume();
  expect(await reached(triggers, reset.runId)).toMatchObject({
    state: "done",
    report: { streams: [{ stream: "signals", mode: "walk", status: "done", complete: true }] },
  });
  expect(listsOf(org.service.log)).toEqual(new Set(["/v1/signals"]));
});

test("a sync of what is dated after a day reads that and nothing else", async () => {
  const { redis, org, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  expect(await synced(triggers, { streams: ["signals"], since: "2020-01-01" })).toMatchObject({ state: "done" });
  expect(listsOf(org.service.log)).toEqual(new Set(["/v1/signals"]));
  const unsupported = triggers.start(anAsk({ streams: ["accounts"], since: "2020-01-01" }));
  await expect(unsupported).rejects.toMatchObject({ code: "SINCE_UNSUPPORTED" });
});

test("a list that the mirror does not read yet ends as by sync, and a dead letter is retried with its list", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  const { runId } = await triggers.start(anAsk({ reset: ["filings:nobody"] }));
  const problem = { code: "USAGE", message: "--reset filings:nobody: the mirror reads no such list yet" };
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed", error: problem });
  const { queues } = await someTriggers(redis, profiles);
  expect(await deadLetters(queues)).toMatchObject([{ id: runId, problem }]);
  const again = (await retryDeadLetter(queues, triggers, runId)) ?? "";
  expect((await queues.sync.getJob(again))?.data).toMatchObject({ reset: ["filings:nobody"] });
  expect(await reached(triggers, again)).toMatchObject({ state: "failed", error: problem });
});
