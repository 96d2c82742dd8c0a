// Taking back requests that no fetcher has taken: only one that was certainly not sent costs nothing.
import { expect, test } from "vitest";
import {
  cancel,
  endRequest,
  noneOutstanding,
  type Pending,
  takeBack,
} from "../../../../../src/queue/remote/loader/outstanding.ts";
import type { Sending } from "../../../../../src/sync/request/sender.ts";
import { createManualClock } from "../../../budget/manual-clock.ts";

/** A queued request, and Redis as it is. */
const rig = () => {
  const clock = createManualClock();
  const redis: { removes: () => Promise<number>; departed: string[]; memory: string } = {
    removes: async () => 1,
    departed: [],
    memory: "memory-1",
  };
  const outstanding = noneOutstanding();
  const ends: Sending[] = [];
  const waiting: Pending = {
    request: {
      ...{ requestId: "r1-1", runId: "r1", endpoint: "listAccounts", params: {}, query: {}, stream: "accounts" },
      ...{ scope: "", walkId: null, url: "/v1/accounts", detail: "{}" },
    },
    since: clock.now(),
    resolve: (sending) => void ends.push(sending),
  };
  outstanding.pending.set("r1-1", waiting);
  outstanding.queued.add("r1-1");
  outstanding.memories.set("r1-1", "memory-1");
  const deps = {
    clock,
    queue: { remove: () => redis.removes() },
    mailbox: { departed: async () => new Set(redis.departed), memory: async () => redis.memory },
  };
  const never = new AbortController().signal;
  return { clock, redis, outstanding, deps, ends, waiting, cancel: () => cancel(outstanding, deps, waiting, never) };
};

test("a request that no fetcher has is taken back, and was never sent", async () => {
  const { outstanding, deps, ends } = rig();
  await takeBack(outstanding, deps);
  expect(ends).toEqual([{ kind: "unsent" }]);
});

test("a request that a fetcher has stays in flight", async () => {
  const { outstanding, deps, ends, redis } = rig();
  redis.removes = async () => 0;
  await takeBack(outstanding, deps);
  expect(ends).toEqual([]);
});

test("a request that was sent before its job was removed is not called unsent", async () => {
  const { outstanding, deps, ends, redis } = rig();
  redis.departed = ["r1-1"];
  await takeBack(outstanding, deps);
  expect(ends).toEqual([]);
});

test("nor is one that was queued in an earlier memory of Redis, which has forgotten whether it was sent", async () => {
  const { outstanding, deps, ends, redis } = rig();
  redis.memory = "memory-2";
  await takeBack(outstanding, deps);
  outstanding.memories.clear();
  await takeBack(outstanding, deps);
  expect(ends).toEqual([]);
});

test("while Redis is away, nothing is taken back", async () => {
  const { outstanding, deps, ends, redis } = rig();
  redis.removes = () => Promise.reject(new Error("away"));
  await takeBack(outstanding, deps);
  expect(ends).toEqual([]);
});

test("a request that its run aborts is taken back where it can be, else it ends as perhaps charged", async () => {
  const queued = rig();
  await queued.cancel();
  expect(queued.ends).toEqual([{ kind: "unsent" }]);
  const sent = rig();
  sent.redis.removes = async () => 0;
  await sent.cancel();
  expect(sent.ends).toMatchObject([{ kind: "outcome", outcome: { reason: "aborted", reached: "unknown" } }]);
});

test("an abort does not wait long for Redis", async () => {
  const { cancel, clock, ends, redis } = rig();
  redis.removes = () => new Promise(() => undefined);
  const cancelled = cancel();
  await clock.advance(499);
  expect(ends).toEqual([]);
  await clock.advance(1);
  await cancelled;
  expect(ends).toMatchObject([{ kind: "outcome", outcome: { reason: "aborted", durationMs: 500 } }]);
});

test("a request with its response is no more outstanding", () => {
  const { outstanding } = rig();
  endRequest(outstanding, "r1-1");
  expect([outstanding.pending.size, outstanding.queued.size, outstanding.memories.size]).toEqual([0, 0, 0]);
});
