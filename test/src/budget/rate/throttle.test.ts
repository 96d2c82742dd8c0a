// The throttle: fair, interruptible, and as fast as the service allows, on a clock that tests move.
import { expect, test } from "vitest";
import { createManualClock, type ManualClock, settled } from "../../../../bench/rates/manual-clock.ts";
import { createThrottle, type Throttle } from "../../../../src/budget/rate/throttle.ts";
import { said } from "../../../support/rate-info.ts";

/** Callers that note their number when their turn comes. */
const callers = (throttle: Throttle, count: number, turns: number[]) =>
  Array.from({ length: count }, (_, caller) => throttle.acquire().then(() => turns.push(caller)));

/** Answers the request of the latest turn. */
const answer = (throttle: Throttle, clock: ManualClock) =>
  throttle.observe(null, { sentAt: clock.now(), answeredAt: clock.now() });

test("the first to ask goes first; with an even pace they are spread", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 60, pacing: "even" });
  const turns: number[] = [];
  const each = Array.from({ length: 5 }, async (_, caller) => {
    await throttle.acquire();
    turns.push(caller);
    await answer(throttle, clock);
  });
  await clock.advance(2_100);
  expect(turns).toEqual([0, 1, 2, 3]);
  await clock.advance(10_000);
  await Promise.all(each);
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
  await answer(throttle, clock);
  await clock.advance(1_100);
  expect(turns).toEqual(["stopped", "stopped", "second"]);

  const last = new AbortController();
  const waiting = throttle.acquire(last.signal).catch(() => {});
  await settled();
  last.abort();
  await waiting;
  await settled();
  expect(clock.sleeping()).toBe(0);
  await expect(throttle.acquire(last.signal)).rejects.toBe(last.signal.reason);
});

test("a turn that is given back is the next one's", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 60 });
  await throttle.acquire();
  const turns: number[] = [];
  void callers(throttle, 1, turns);
  await clock.advance(100);
  expect(turns).toEqual([]);
  await throttle.releaseSlot();
  await clock.advance(1);
  expect(turns).toEqual([0]);
});

test("without a configured rate the first request goes alone; its headers set the pace of the rest", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: null });
  const turns: number[] = [];
  void callers(throttle, 19, turns);
  // The wait for the first answer has no end that could be named.
  const last = throttle.acquire(undefined, () => turns.push(Number.NaN)).then(() => turns.push(19));
  await clock.advance(5_000);
  expect(turns).toEqual([0]);
  for (let n = 0; n < 20; n += 1) {
    await throttle.observe(said({ limit: 600, windowMs: 60_000 }));
    await clock.advance(10);
  }
  await last;
  expect(turns).toHaveLength(20);
});

test("a refusal makes everyone wait until then, and whoever waits is told", async () => {
  const clock = createManualClock();
  const throttle = createThrottle({ clock, configured: 300 });
  await throttle.acquire();
  await throttle.observe(null, { sentAt: clock.now(), answeredAt: clock.now(), end: "refused" });
  const untilMs = clock.now() + 30_000;
  await throttle.backOff({ untilMs, cause: "rate", namedAt: untilMs });
  const told: number[] = [];
  const turns: number[] = [];
  void throttle.acquire(undefined, (until) => told.push(until)).then(() => turns.push(0));
  void throttle.acquire().then(() => turns.push(1));
  await clock.advance(29_000);
  expect(turns).toEqual([]);
  expect(told).toEqual([untilMs]);
  await clock.advance(1_500);
  await answer(throttle, clock);
  await clock.advance(1_500);
  expect(turns).toEqual([0, 1]);
});

test("after the clock went back, the next request waits for its pace once, not until the clock has caught up", async () => {
  const clock = createManualClock();
  let backMs = 0;
  const throttle = createThrottle({
    clock: { ...clock, now: () => clock.now() - backMs },
    configured: 60,
    pacing: "even",
  });
  for (let sent = 0; sent < 2; sent += 1) {
    await throttle.acquire();
    await answer(throttle, clock);
  }
  backMs = 26 * 3_600_000;
  const turns: number[] = [];
  void throttle.acquire().then(() => turns.push(1));
  await clock.advance(5_000);
  expect(turns).toEqual([1]);
});

test("others who use the token explain a refusal only if its own headers leave nothing", async () => {
  const learns = async (remaining: number): Promise<number | null> => {
    const clock = createManualClock();
    const throttle = createThrottle({ clock, configured: null });
    const trip = () => ({ sentAt: clock.now(), answeredAt: clock.now() });
    const figures = (left: number) =>
      said({ limit: 300, windowMs: 60_000, remaining: left, resetsAt: clock.now() + 60_000 });
    await throttle.acquire();
    // Others used 45.
    await throttle.observe(figures(254), trip());
    await throttle.acquire();
    await throttle.observe(figures(remaining), { ...trip(), end: "refused" });
    const openAt = clock.now() + 200;
    await throttle.backOff({ untilMs: openAt, cause: "rate", namedAt: openAt });
    return throttle.mostInFlight();
  };
  expect([await learns(253), await learns(0)]).toEqual([1, null]);
});
