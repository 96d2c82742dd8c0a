// A sync of each of many organizations, asked for at once: what it costs Redis and this process.
import { expect, test, vi } from "vitest";
import { mapAtOnce } from "../../../../../src/core/async/map-at-once.ts";
import { STARTS_AT_ONCE } from "../../../../../src/queue/asking/asks.ts";
import { anAsk, anOrg, aRedis, someTriggers } from "../../worker-rig.ts";

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
