// The register of mirrors whose pages pass through Redis.
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loadedMirrors, registerMirror } from "../../../../src/queue/fleet/mirrors.ts";
import { keyOf } from "../../../../src/queue/redis/queues.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";

const DAY_MS = 86_400_000;
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

/** An entry that was written `daysAgo`. */
const anEntry = async (mirror: string, daysAgo: number) => {
  const [seconds] = await redis.time();
  await redis.hset(
    keyOf("mirrors"),
    mirror,
    JSON.stringify({ profile: "old", used_at: Number(seconds) * 1000 - daysAgo * DAY_MS }),
  );
};

test("mirrors are listed by profile, each once, under the profile that used it last", async () => {
  for (const [mirror, profile] of [
    ["m2", "south"],
    ["m1", "south"],
    ["m3", "north"],
    ["m3", "east"],
  ] as const)
    await registerMirror(redis, mirror, profile);
  expect(await loadedMirrors(redis)).toEqual([
    { mirror: "m3", profile: "east" },
    { mirror: "m1", profile: "south" },
    { mirror: "m2", profile: "south" },
  ]);
});

test("a mirror that no loader used for a month is dropped, and one that was used since stays", async () => {
  await anEntry("fresh", 29);
  await anEntry("old", 31);
  expect((await loadedMirrors(redis)).map(({ mirror }) => mirror)).toEqual(["fresh"]);
  expect(await redis.hkeys(keyOf("mirrors"))).toEqual(["fresh"]);
});

test("an entry that is unreadable is dropped, and hides no other", async () => {
  await registerMirror(redis, "m1", "north");
  await redis.hset(keyOf("mirrors"), "m2", "{", "m3", '{"profile":7}');
  expect((await loadedMirrors(redis)).map(({ mirror }) => mirror)).toEqual(["m1"]);
  expect(await redis.hkeys(keyOf("mirrors"))).toEqual(["m1"]);
});

test("without a mirror there is none", async () => {
  expect(await loadedMirrors(redis)).toEqual([]);
});
