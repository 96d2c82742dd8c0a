// The mailbox: what may leave and what may not, decided at one instant in Redis.
import { Redis } from "ioredis";
import { beforeEach, expect, test } from "vitest";
import { type DepartureAsk, type Mailbox, openMailbox } from "../../../../src/queue/remote/mailbox.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aRedis } from "../worker-rig.ts";

const LOCK = "{duckmirror}:fetch:r-1:lock";
const MOST_BYTES = 1000;
let redis: Redis;
let mailbox: Mailbox;

beforeEach(async () => {
  const server = await aRedis();
  redis = new Redis(server.url);
  afterTest(async () => redis.disconnect());
  mailbox = openMailbox(redis, "m", MOST_BYTES);
  await mailbox.claim("e-1");
  await redis.set(LOCK, "mine");
});

const ask = async (more: Partial<DepartureAsk> = {}): Promise<DepartureAsk> => {
  const [seconds = 0] = await redis.time();
  const slotAt = Number(seconds) * 1000 + 1000;
  return { requestId: "r-1", epoch: "e-1", lockKey: LOCK, lockToken: "mine", slotAt, ...more };
};

const kindOf = async (more: Partial<DepartureAsk> = {}) => (await mailbox.depart(await ask(more))).kind;

test("a request leaves, and leaving again is counted", async () => {
  expect(await mailbox.depart(await ask())).toMatchObject({ kind: "go", nth: 1 });
  expect(await mailbox.depart(await ask())).toMatchObject({ kind: "go", nth: 2 });
  expect([...(await mailbox.departed(["r-1", "r-2"]))]).toEqual(["r-1"]);
});

test("nothing leaves for a loader that was replaced or has ended", async () => {
  await mailbox.claim("e-2");
  expect(await kindOf()).toBe("fenced");
  await mailbox.resign("e-1");
  expect(await mailbox.epoch()).toBe("e-2");
  await mailbox.resign("e-2");
  expect(await kindOf({ epoch: "e-2" })).toBe("fenced");
  expect(await mailbox.epoch()).not.toBeNull();
});

test("nothing leaves from a fetcher that lost its lock", async () => {
  await redis.set(LOCK, "another's");
  expect(await kindOf()).toBe("unlocked");
  await redis.del(LOCK);
  expect(await kindOf()).toBe("unlocked");
});

test("a slot that is a quarter of a second old has passed", async () => {
  const { slotAt } = await ask();
  expect(await kindOf({ slotAt: slotAt - 3000 })).toBe("stale");
});

test("while more waits for the loader than is allowed nothing leaves; what it took makes room", async () => {
  await mailbox.put("r-0.1", Buffer.alloc(MOST_BYTES + 1));
  expect(await kindOf()).toBe("full");
  await mailbox.drop("r-0.1", "r-0");
  expect(await kindOf()).toBe("go");
});

test("an answered request leaves no second time, neither before nor after its answer was taken", async () => {
  await mailbox.depart(await ask());
  await mailbox.put("r-1.1", Buffer.from([1, 2, 255]));
  await mailbox.put("r-1.1", Buffer.from([1, 2, 255]));
  expect(await mailbox.depart(await ask())).toMatchObject({ kind: "answered", nth: 1 });
  expect(await mailbox.deliveries()).toEqual(["r-1.1"]);
  expect(await mailbox.read("r-1.1")).toEqual(Buffer.from([1, 2, 255]));
  await mailbox.drop("r-1.1", "r-1");
  expect(await mailbox.read("r-1.1")).toBeNull();
  expect(await mailbox.depart(await ask())).toMatchObject({ kind: "answered", nth: 0 });
});

test("of several fetchers that ask at once, only the one that has the job may send", async () => {
  const tokens = Array.from({ length: 20 }, (_, index) => (index === 7 ? "mine" : `other-${index}`));
  const kinds = await Promise.all(tokens.map((lockToken) => kindOf({ lockToken })));
  expect(kinds.filter((kind) => kind === "go")).toHaveLength(1);
});
