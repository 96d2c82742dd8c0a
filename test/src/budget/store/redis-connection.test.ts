// What may happen to Redis, and what limits and reservations make of it: nothing leaves without a slot, none is taken
// twice, and a clear error ends it where Redis stays away.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createOrganizationLedger } from "../../../../src/budget/credits/organization-ledger.ts";
import { redisLedger, redisLimiter } from "../../../../src/budget/limits-in-redis.ts";
import { createThrottle } from "../../../../src/budget/rate/throttle.ts";
import { createRedisState, organizationKey } from "../../../../src/budget/store/in-redis.ts";
import { checkRedis, connectRedis } from "../../../../src/budget/store/redis-connection.ts";
import { systemClock as clock } from "../../../../src/core/clock.ts";
import { type RedisOptions, startRedis, type TestRedis } from "../../../support/redis.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { limits as limitsOf } from "../limits.ts";
import { mostWithin, recording } from "../taken-slots.ts";

const organization = organizationKey("https://api.example/", "a token");

const start = async (options: RedisOptions = {}): Promise<TestRedis> => {
  const redis = await startRedis(options);
  onTestFinished(redis.discard);
  return redis;
};

const connectFor = (url: string, commandTimeoutMs: number) => {
  const connection = connectRedis(url, { commandTimeoutMs, name: "a test" });
  onTestFinished(connection.close);
  return connection;
};
/** Commands time out early, so that a frozen server is noticed within the test. */
const connect = (url: string) => connectFor(url, 150);
/** For servers that respond, on a busy machine, too. */
const connectPatiently = (url: string) => connectFor(url, 30_000);

const counter = (connection: ReturnType<typeof connect>, patienceMs: number) => {
  const schema = z.object({ count: z.number() });
  const store = createRedisState({
    connection,
    key: "counter",
    schema,
    start: () => ({ count: 0 }),
    ttlMs: 60_000,
    clock,
    patienceMs,
  });
  const count = (signal?: AbortSignal) =>
    store.update((state) => ({ state: { count: state.count + 1 }, result: state.count + 1 }), { signal });
  const read = () => store.update((state) => ({ state, result: state.count }));
  return { count, read };
};

describe("a Redis that is checked", () => {
  test("is refused where it may throw away what it holds", async () => {
    const redis = await start({ maxmemory: "20mb", policy: "allkeys-lru" });
    await expect(checkRedis(connectPatiently(redis.url))).rejects.toMatchObject({
      code: "REDIS_EVICTS",
      message: expect.stringContaining("allkeys-lru"),
      exitCode: 2,
    });
  });

  test("is taken with a bound that evicts nothing; without an append-only file a warning says so", async () => {
    const bounded = await start({ maxmemory: "20mb" });
    expect(await checkRedis(connectPatiently(bounded.url))).toEqual([expect.stringContaining("no append-only file")]);
    const appendonlyDir = tempDir();
    const persistent = await start({ appendonlyDir });
    expect(await checkRedis(connectPatiently(persistent.url))).toEqual([]);
    await persistent.kill();
  });

  test("is refused as a replica, since nothing can be written to it", async () => {
    const primary = await start();
    const replica = await start({ replicaOf: primary.port });
    await expect(checkRedis(connectPatiently(replica.url))).rejects.toMatchObject({ code: "REDIS_REPLICA" });
  });

  test("that is not there, or refuses the password, is named without the password", async () => {
    const redis = await start({ password: "the right one" });
    const wrong = redis.url.replace("the%20right%20one", "the%20wrong%20one");
    const problem = await checkRedis(connectPatiently(wrong)).catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: "REDIS_REFUSED",
      exitCode: 2,
      message: expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ refuses duckmirror: WRONGPASS/),
      hint: expect.stringContaining("user and password in REDIS_URL"),
    });
    expect(String(problem)).not.toContain("wrong one");
    const none = redis.url.replace(/:\/\/.*@/, "://");
    await expect(checkRedis(connectPatiently(none))).rejects.toMatchObject({ code: "REDIS_REFUSED" });
    expect(await checkRedis(connectPatiently(redis.url))).toHaveLength(1);
    await redis.stop();
    await expect(checkRedis(connectPatiently(wrong))).rejects.toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

test.each([
  ["a command", "~*", "-eval"],
  ["a command in scripts", "~*", "-zadd"],
  ["the keys of limits", "~{duckmirror}*", "+@all"],
  ["INFO", "~*", "-info"],
])("a user without rights to %s is refused with what is denied", async (_, keys, rights) => {
  const redis = await start({ user: ["duckmirror", "on", ">secret", keys, "&*", "+@all", rights] });
  const connection = connectPatiently(redis.url.replace("://", "://duckmirror:secret@"));
  await expect(checkRedis(connection)).rejects.toMatchObject({
    code: "REDIS_REFUSED",
    exitCode: 2,
    message: expect.stringMatching(/NOPERM|can't run this command|permission/i),
  });
});

describe("while Redis is away", () => {
  test("a frozen server is waited for, and a change whose answer got lost is made once", async () => {
    const redis = await start();
    const connection = connect(redis.url);
    const { count, read } = counter(connection, 30_000);
    expect(await count()).toBe(1);
    redis.pause();
    const counted = [count(), count(), count()];
    // Each was sent and given up at least once; the frozen server carries out all that reached it.
    const { redis: client } = connection;
    await expect(client.ping()).rejects.toThrow("timed out");
    redis.resume();
    expect((await Promise.all(counted)).sort()).toEqual([2, 3, 4]);
    expect(await read()).toBe(4);
  });

  test("a signal ends the wait at once, a closed connection does too, and patience has an end", async () => {
    const redis = await start();
    const connection = connect(redis.url);
    const { count } = counter(connection, 30_000);
    expect(await count()).toBe(1);
    await redis.kill();
    const stop = new AbortController();
    const waiting = count(stop.signal);
    stop.abort("stopped");
    await expect(waiting).rejects.toBe("stopped");
    await expect(counter(connection, 250).count()).rejects.toMatchObject({
      code: "REDIS_UNAVAILABLE",
      exitCode: 5,
      message: expect.stringContaining("ECONNREFUSED"),
    });
    const longer = count();
    await connection.close();
    await expect(longer).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  });

  test("a request that waits for a slot gets none: given up, or refused, but never sent without one", async () => {
    const redis = await start();
    const connection = connect(redis.url);
    const throttle = createThrottle({
      clock,
      configured: 6_000,
      store: redisLimiter({ connection, organization, clock }),
    });
    await throttle.acquire();
    await redis.kill();
    const stop = new AbortController();
    const givenUp = throttle.acquire(stop.signal);
    const refused = throttle.acquire();
    stop.abort("stopped");
    await expect(givenUp).rejects.toBe("stopped");
    // Not lost meanwhile: the pause is shared as soon as Redis is back.
    const until = Date.now() + 3_000;
    const now = Date.now();
    void throttle.observe(null, { sentAt: now, answeredAt: now, end: "refused" });
    void throttle.backOff({ untilMs: until, cause: "rate", namedAt: until });
    await redis.restart();
    await refused;
    // Redis's clock counts whole milliseconds.
    expect(Date.now()).toBeGreaterThanOrEqual(until - 5);
    await redis.kill();
    const last = throttle.acquire();
    await connection.close();
    await expect(last).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  });
});

test("a restart with empty memory makes no burst, forgets no rate and no reservation that is still open", async () => {
  const redis = await start();
  const place = { connection: connect(redis.url), organization, clock };
  const taken: number[] = [];
  const throttle = createThrottle({ clock, configured: null, store: recording(redisLimiter(place), taken) });
  const limits = limitsOf();
  const ledger = createOrganizationLedger({ clock, store: redisLedger(place, limits), limits });
  const rate = { limit: 20, windowMs: 1_000, remaining: null, resetsAt: null, retryAt: null };
  await throttle.acquire();
  await throttle.observe(rate);
  expect(await ledger.reserve("first")).toEqual({ ok: true });
  for (let n = 0; n < 40; n += 1) {
    if (n % 8 === 7) await redis.restart();
    await throttle.acquire();
    await throttle.observe(rate);
  }
  expect(mostWithin(taken, 1_000)).toBeLessThanOrEqual(20);
  // Nobody knows what is left any more: the one in flight goes ahead.
  expect(await ledger.reserve("second")).toMatchObject({ ok: false, settling: true });
  expect(await ledger.snapshot()).toMatchObject({ reserved: 1, remaining: null });
  const quota = { limit: 100, used: null, remaining: 1, resetsAt: Date.now() + 86_400_000 };
  await ledger.settle("first", "spent", { quota, sentAt: Date.now() });
  expect(await ledger.reserve("second")).toEqual({ ok: true });
  expect(await ledger.reserve("third")).toMatchObject({ ok: false, code: "QUOTA_SPENT", resetsAt: quota.resetsAt });
});

test("a process that is alone changes credits in one round trip, and one that finds them changed in two", async () => {
  const redis = await start();
  const connection = connectPatiently(redis.url);
  const place = { connection, organization, clock };
  const ledgerOf = () => createOrganizationLedger({ clock, store: redisLedger(place, limitsOf()), limits: limitsOf() });
  const [one, other] = [ledgerOf(), ledgerOf()];
  const scripts = vi.spyOn(connection.redis, "evalsha");
  const during = async (work: () => Promise<unknown>) => {
    const before = scripts.mock.calls.length;
    await work();
    return scripts.mock.calls.length - before;
  };
  const quota = { limit: 100, used: null, remaining: 2, resetsAt: Date.now() + 86_400_000 };
  const spend = async (ledger: typeof one) => {
    const id = randomUUID();
    expect(await ledger.reserve(id)).toEqual({ ok: true });
    await ledger.settle(id, "spent");
  };
  await one.reserve("first");
  await one.settle("first", "free", { quota, sentAt: Date.now() });
  expect(await during(() => spend(one))).toBe(2);
  // The first change reads, for `other` has no reply yet; then it is alone.
  expect(await during(() => spend(other))).toBe(3);
  // What `one` remembers is outdated: its change is refused with the present state, which denies. A denial is read.
  expect(await during(() => one.reserve("late"))).toBeLessThanOrEqual(2);
  expect(await one.reserve("later")).toMatchObject({ ok: false, code: "QUOTA_SPENT" });
  expect(await one.snapshot()).toMatchObject({ reserved: 0, remaining: 0 });
});

test("no memory left is an error of its own; reading goes on, and so does writing once there is room", async () => {
  const redis = await start();
  const connection = connect(redis.url);
  const { count, read } = counter(connection, 300);
  expect(await count()).toBe(1);
  await connection.redis.config("SET", "maxmemory", "1");
  await expect(count()).rejects.toMatchObject({ code: "REDIS_FULL", exitCode: 5 });
  expect(await read()).toBe(1);
  const waiting = counter(connection, 30_000).count();
  await connection.redis.config("SET", "maxmemory", "0");
  expect(await waiting).toBe(2);
});

test("failover: the replica refuses until it is promoted, then it goes on where the primary was", async () => {
  const primary = await start();
  const replica = await start({ replicaOf: primary.port });
  const before = counter(connect(primary.url), 30_000);
  expect(await before.count()).toBe(1);
  const second = connect(replica.url);
  await vi.waitFor(async () => expect(await second.redis.get("counter")).not.toBeNull(), 120_000);
  await primary.kill();
  const after = counter(second, 30_000);
  const waiting = after.count();
  // It is refused with READONLY first, which also makes the connection start anew.
  await new Promise<void>((resolve) => second.redis.once("close", () => resolve()));
  const admin = connect(replica.url);
  await new Promise<void>((resolve) => admin.redis.once("ready", () => resolve()));
  await admin.redis.replicaof("NO", "ONE");
  expect(await waiting).toBe(2);
});

test("what cannot be read, of whatever version, starts afresh and is replaced", async () => {
  const redis = await start();
  const connection = connect(redis.url);
  const { count, read } = counter(connection, 30_000);
  for (const garbage of ["", "{", "[]", '{"version":2,"state":{"count":7}}', '{"version":1,"state":{"count":"7"}}']) {
    expect(await read()).toBeLessThan(3);
    await connection.redis.set("counter", garbage);
    expect(await count()).toBe(1);
    expect(await count()).toBe(2);
  }
});

test("the name of an organization is the same for a slash more, and shows nothing of the token", () => {
  expect(organization).toMatch(/^[0-9a-f]{64}$/);
  expect(organizationKey("https://api.example", "a token")).toBe(organization);
  expect(organizationKey("https://api.example", "another token")).not.toBe(organization);
});
