// The throttle: fair, interruptible, and as fast as the service allows, on a clock that tests move.
import { describe, expect, test } from "vitest";
import { createThrottle, type Throttle } from "../../../../src/budget/rate/throttle.ts";
import { said } from "../../../support/rate-info.ts";
import { fixedWindow, slidingWindow } from "../counting-service.ts";
import { createManualClock, settled } from "../manual-clock.ts";

/** Callers that note their number when their turn comes. */
const callers = (throttle: Throttle, count: number, turns: number[]) =>
  Array.from({ length: count }, (_, caller) => throttle.acquire().then(() => turns.push(caller)));

test("the first to ask goes first, evenly spaced", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 60 });
  const turns: number[] = [];
  void callers(throttle, 5, turns);
  await clock.advance(2_100);
  expect(turns).toEqual([0, 1, 2]);
  await clock.advance(10_000);
  expect(turns).toEqual([0, 1, 2, 3, 4]);
  expect(clock.sleeping()).toBe(0);
});

test("a caller that gives up leaves the queue, the others keep their order, and no timer stays behind", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 60 });
  await throttle.acquire();
  const stop = new AbortController();
  const turns: string[] = [];
  const given = throttle.acquire(stop.signal).catch((reason: unknown) => turns.push(String(reason)));
  void throttle.acquire().then(() => turns.push("second"));
  const alsoGiven = throttle.acquire(stop.signal).catch((reason: unknown) => turns.push(String(reason)));
  stop.abort("stopped");
  await Promise.all([given, alsoGiven]);
  await clock.advance(1_100);
  expect(turns).toEqual(["stopped", "stopped", "second"]);

  const last = new AbortController();
  const waiting = throttle.acquire(last.signal).catch(() => {});
  await settled();
  expect(clock.sleeping()).toBe(1);
  last.abort();
  await waiting;
  await settled();
  expect(clock.sleeping()).toBe(0);
  await expect(throttle.acquire(last.signal)).rejects.toBe(last.signal.reason);
});

test("without a configured rate the first request goes alone; its headers set the pace of the rest", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: null });
  const turns: number[] = [];
  void callers(throttle, 20, turns);
  await clock.advance(5_000);
  expect(turns).toEqual([0]);
  expect(throttle.state()).toMatchObject({ why: "first-answer", waitingUntil: expect.any(Number) });
  throttle.observe(said({ limit: 600, windowMs: 60_000 }), 0);
  await clock.advance(1_000);
  expect(turns.length).toBeGreaterThanOrEqual(10);
  expect(throttle.state().ratePerMinute).toBeCloseTo(600 / 1.01);
});

test("a refusal makes everyone wait until then, and the state says so", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 300 });
  await throttle.acquire();
  throttle.backOff(clock.now() + 30_000);
  const turns: number[] = [];
  void callers(throttle, 2, turns);
  await clock.advance(29_000);
  expect(turns).toEqual([]);
  expect(throttle.state()).toMatchObject({ why: "refused", waitingUntil: clock.now() + 1_000 });
  await clock.advance(1_500);
  expect(turns).toEqual([0, 1]);
  expect(throttle.state().waitingUntil).toBeNull();
});

describe("against a service that counts", () => {
  const cases = [300, 1_200, 60].flatMap((limit) => [
    { name: `fixed window, ${limit} a minute`, make: fixedWindow, limit },
    { name: `sliding window, ${limit} a minute`, make: slidingWindow, limit },
  ]);

  test.each(cases)(
    "$name: never refused and 97% of the rate used, with answers after 800 ms",
    async ({ make, limit }) => {
      let turn = 0;
      // Timers fire up to 3 ms late; the way there varies by up to 300 ms, the way back too.
      const clock = createManualClock(1_000_000, () => turn++ % 4);
      const service = make(clock, limit);
      const throttle = createThrottle({ clock, configured: null });
      let flying = 0;
      let answered = 0;
      const worker = async () => {
        for (;;) {
          await throttle.acquire();
          flying += 1;
          const sentAt = clock.now();
          await clock.sleep(50 + ((turn * 53) % 300));
          const rate = service.request();
          await clock.sleep(600 + ((turn * 37) % 300));
          flying -= 1;
          answered += 1;
          throttle.observe(rate, flying, { sentAt, answeredAt: clock.now() });
        }
      };
      for (let n = 0; n < Math.max(16, limit / 10); n += 1) void worker();
      await clock.advance(70_000);
      const before = answered;
      await clock.advance(300_000);
      expect(service.refusals).toBe(0);
      expect((answered - before) / (limit * 5)).toBeGreaterThanOrEqual(0.97);
    },
  );
});
