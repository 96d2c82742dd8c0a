// What a loader finds out about requests without a response: answered, refused, lost, or taken over by another loader.
import { expect, test } from "vitest";
import type { Pending } from "../../../../../src/queue/remote/loader/outstanding.ts";
import { createWatch, type WatchDeps } from "../../../../../src/queue/remote/loader/watch.ts";
import type { Sending } from "../../../../../src/sync/request/sender.ts";
import { createManualClock } from "../../../budget/manual-clock.ts";

const OWN = "epoch-1";
const LONG_AGO_MS = 5_000;

/** A loader with one request, sent `ageMs` ago. */
const rig = (ageMs = LONG_AGO_MS) => {
  const clock = createManualClock();
  const redis: {
    epoch: string | null;
    deliveries: string[];
    job: "unknown" | "waiting" | "active" | "failed";
    reason: string;
  } = { epoch: OWN, deliveries: [], job: "waiting", reason: "" };
  const ends: Sending[] = [];
  const arrived: string[] = [];
  const underWay = new Set<string>();
  let claims = 0;
  const pending = new Map<string, Pending>();
  const request: Pending["request"] = {
    ...{
      requestId: "r1-1",
      runId: "r1",
      endpoint: "listAccounts",
      params: {},
      query: {},
      stream: "accounts",
      scope: "",
    },
    ...{ walkId: null, url: "/v1/accounts", detail: "{}" },
  };
  pending.set("r1-1", {
    request,
    since: clock.now() - ageMs,
    resolve: (sending) => {
      ends.push(sending);
      pending.delete("r1-1");
    },
  });
  const deps: WatchDeps = {
    clock,
    queue: {
      getJobState: async () => redis.job,
      getJob: async () => (redis.job === "unknown" ? undefined : { failedReason: redis.reason }),
    },
    mailbox: { epoch: async () => redis.epoch, deliveries: async () => redis.deliveries },
    sender: { pending: () => pending },
    arrivals: { arrive: async (delivery) => void arrived.push(delivery), underWay: () => underWay },
    epoch: OWN,
    claim: async () => {
      claims += 1;
    },
  };
  const { check } = createWatch(deps);
  return { clock, redis, ends, arrived, underWay, check, claims: () => claims };
};

test("a request that waits for a fetcher, or that one has, is waited for", async () => {
  const { check, redis, ends, clock } = rig();
  for (const job of ["waiting", "active"] as const) {
    redis.job = job;
    await check();
    await clock.advance(3_600_000);
  }
  expect(ends).toEqual([]);
});

test("a response that nobody announced is taken, once", async () => {
  const { check, redis, arrived, underWay } = rig();
  redis.deliveries = ["r1-11.1", "r1-1.2"];
  await check();
  expect(arrived).toEqual(["r1-1.2"]);
  underWay.add("r1-1.2");
  await check();
  expect(arrived).toHaveLength(1);
});

test("a young request is left alone: its announcement is on its way", async () => {
  const { check, redis, arrived, ends } = rig(500);
  redis.deliveries = ["r1-1.1"];
  redis.job = "failed";
  await check();
  expect([arrived, ends]).toEqual([[], []]);
});

test("a request that Redis lost ends as perhaps charged, after the time in which its fetcher may still deliver", async () => {
  const { check, redis, ends, clock } = rig();
  redis.job = "unknown";
  await check();
  await clock.advance(9_000);
  await check();
  expect(ends).toEqual([]);
  await clock.advance(2_000);
  await check();
  expect(ends).toMatchObject([{ kind: "outcome", outcome: { kind: "broken", reached: "unknown" } }]);
});

test("a request that is known again meanwhile is not lost, and its time begins anew", async () => {
  const { check, redis, ends, clock } = rig();
  for (const job of ["unknown", "active", "unknown"] as const) {
    redis.job = job;
    await check();
    await clock.advance(8_000);
  }
  await check();
  expect(ends).toEqual([]);
});

test.each([
  ["PROFILE_UNKNOWN: x", "PROFILE_UNKNOWN"],
  ["JOB_VERSION: x", "JOB_VERSION"],
  ["TOKEN_MISSING: x", "FETCHER_REFUSED"],
  ["TypeError: x is undefined", "UNEXPECTED"],
  ["", "UNEXPECTED"],
])("a request that no fetcher takes (%j) is denied with %s, so it costs nothing", async (reason, code) => {
  const { check, redis, ends } = rig();
  redis.job = "failed";
  redis.reason = reason;
  await check();
  expect(ends).toMatchObject([{ kind: "denied", error: { code } }]);
});

test("after another loader took over, every request ends, also a young one", async () => {
  const { check, redis, ends, claims } = rig(0);
  redis.epoch = "epoch-2";
  await check();
  expect(ends).toMatchObject([{ kind: "denied", error: { code: "FENCED" } }]);
  expect(claims()).toBe(0);
});

test("when Redis lost its memory, the loader claims its place again and goes on", async () => {
  const { check, redis, ends, claims } = rig();
  redis.epoch = null;
  await check();
  expect([claims(), ends]).toEqual([1, []]);
});
