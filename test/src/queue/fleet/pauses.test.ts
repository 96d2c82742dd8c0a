// Pauses of the fleet, of profiles and of queues, as Redis keeps them.
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { dropPause, isPaused, notePause, readPauses } from "../../../../src/queue/fleet/fleet.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(async () => {
  await redis.flushall();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const north = { kind: "profile", name: "north" } as const;
const fleet = { kind: "fleet", name: null } as const;

test("a paused profile is paused, and no other; a paused fleet is every profile", async () => {
  await notePause(redis, north);
  expect([await isPaused(redis, "north"), await isPaused(redis, "south")]).toEqual([true, false]);
  await notePause(redis, fleet);
  expect(await isPaused(redis, "south")).toBe(true);
  await dropPause(redis, fleet);
  expect([await isPaused(redis, "north"), await isPaused(redis, "south")]).toEqual([true, false]);
});

test("a profile named like the fleet, or with a colon, is a profile", async () => {
  await notePause(redis, { kind: "profile", name: "fleet" });
  await notePause(redis, { kind: "profile", name: "a:b" });
  expect([await isPaused(redis, "north"), await isPaused(redis, "fleet"), await isPaused(redis, "a:b")]).toEqual([
    false,
    true,
    true,
  ]);
  expect((await readPauses(redis, [])).map(({ name }) => name)).toEqual(["a:b", "fleet"]);
});

test("pausing again changes nothing, and says so; so does resuming what is not paused", async () => {
  expect(await notePause(redis, north)).toBe(true);
  const [first] = await readPauses(redis, []);
  expect(await notePause(redis, north)).toBe(false);
  expect(await readPauses(redis, [])).toEqual([first]);
  expect([await dropPause(redis, north), await dropPause(redis, north)]).toEqual([true, false]);
});

test("the fleet comes first, then profiles and queues by name, each with its time by Redis's clock", async () => {
  const [seconds] = await redis.time();
  for (const target of [{ kind: "queue", name: "sync" }, { kind: "profile", name: "south" }, north, fleet] as const)
    await notePause(redis, target);
  const pauses = await readPauses(redis, ["sync"]);
  expect(pauses.map(({ kind, name }) => [kind, name])).toEqual([
    ["fleet", null],
    ["profile", "north"],
    ["profile", "south"],
    ["queue", "sync"],
  ]);
  for (const { since } of pauses) expect(since).toBeGreaterThanOrEqual(Number(seconds) * 1000);
});

test("a queue is paused if BullMQ has it so, whatever is noted; another program's pause has no time", async () => {
  await notePause(redis, { kind: "queue", name: "sync" });
  expect(await readPauses(redis, ["export"])).toEqual([{ kind: "queue", name: "export", since: null }]);
});

test("a paused queue pauses no profile", async () => {
  await notePause(redis, { kind: "queue", name: "north" });
  expect(await isPaused(redis, "north")).toBe(false);
});
