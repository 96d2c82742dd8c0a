// Pauses of the fleet, of profiles and of queues, as Redis keeps them.
import { Redis } from "ioredis";
import { afterAll, beforeEach, expect, test } from "vitest";
import { isPaused, notePause, readPauses } from "../../../../src/queue/fleet/fleet.ts";
import { forFile } from "../../../support/for-file.ts";
import { startRedis } from "../../../support/redis.ts";

const server = await forFile(startRedis());
const redis = new Redis(server.url);
beforeEach(async () => {
  await redis.flushall();
});
afterAll(() => redis.disconnect());

const north = { kind: "profile", name: "north" } as const;
const fleet = { kind: "fleet", name: null } as const;

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
