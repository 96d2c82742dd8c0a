// Requests of a fetcher at the service: slots, hanging requests, and how long a reservation is kept alive.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createInFlight } from "../../../../../src/queue/remote/fetcher/in-flight.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
const HANGING_MS = 2_000;

const rig = (slots = 2) => {
  const renewed: string[] = [];
  const warnings: string[] = [];
  let changes = 0;
  let refusing = false;
  const inFlight = createInFlight({
    slots,
    owner: "fetcher-1",
    hangingMs: HANGING_MS,
    onChange: () => {
      changes += 1;
    },
    warn: (text) => void warnings.push(text),
  });
  const organization = {
    ledger: {
      renew: async (owner: string) => {
        if (refusing) throw new Error("Redis is away");
        renewed.push(owner);
      },
    },
  };
  const send = (profile = "north") => {
    let answer: (text: string) => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const answered = new Promise<string>((resolve, reject) => {
      answer = resolve;
      fail = reject;
    });
    return { done: inFlight.during({ profile }, organization, () => answered), answer, fail };
  };
  return {
    inFlight,
    send,
    renewed,
    warnings,
    changes: () => changes,
    refuse: () => {
      refusing = true;
    },
  };
};

test("a request is in flight until its answer, which its caller gets", async () => {
  const { inFlight, send } = rig();
  const request = send();
  expect(inFlight.count()).toBe(1);
  request.answer("rows");
  expect(await request.done).toBe("rows");
  expect(inFlight.count()).toBe(0);
});

test("a request that hangs makes room for another job, until it ends in whatever way", async () => {
  const { inFlight, send, changes } = rig();
  const request = send();
  vi.advanceTimersByTime(HANGING_MS - 1);
  expect(inFlight.places()).toBe(2);
  vi.advanceTimersByTime(1);
  expect(inFlight.places()).toBe(3);
  expect(changes()).toBe(1);
  request.fail(new Error("reset"));
  await expect(request.done).rejects.toThrow("reset");
  expect([inFlight.places(), inFlight.count(), changes()]).toEqual([2, 0, 2]);
});

test("however many hang, a fetcher takes no more than sixteen times its slots", () => {
  const { inFlight, send } = rig(1);
  for (let nth = 0; nth < 40; nth++) void send();
  vi.advanceTimersByTime(HANGING_MS);
  expect(inFlight.places()).toBe(16);
});

test("an answer in time leaves nothing hanging", async () => {
  const { inFlight, send } = rig();
  const request = send();
  request.answer("rows");
  await request.done;
  vi.advanceTimersByTime(10 * HANGING_MS);
  expect(inFlight.places()).toBe(2);
});

test("the reservations of a hanging request are renewed until it ends, once for all of its organization", async () => {
  const { inFlight, send, renewed } = rig();
  const requests = [send(), send()];
  vi.advanceTimersByTime(5 * 60_000);
  const before = renewed.length;
  expect(before).toBeGreaterThan(0);
  expect(new Set(renewed)).toEqual(new Set(["fetcher-1"]));
  for (const { answer, done } of requests) {
    answer("rows");
    await done;
  }
  vi.advanceTimersByTime(5 * 60_000);
  expect(renewed.length).toBe(before);
  inFlight.close();
});

test("a renewal that fails is a warning", async () => {
  const { send, refuse, warnings } = rig();
  void send();
  refuse();
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(warnings[0]).toBe("Redis is away");
});
