// The limiter's arithmetic: what a window allows goes at once, and no window ever holds more.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RateInfo } from "../../../../src/api/outcome.ts";
import { nextSlot, observeRate, type Pacing, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { type LimiterState, startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { limitsAt } from "../../../../src/budget/rate/windows.ts";
import { said as rate } from "../../../support/rate-info.ts";
import { mostWithin } from "../taken-slots.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const MINUTE = 60_000;
const LATENCY = 40;
const ratePerMinute = (state: LimiterState, now: number) => MINUTE * limitsAt(state, now).speed;

/** Requests one after the other, each `late` ms later than it may leave, answered after LATENCY, until `untilMs`. */
const saturate = (
  start: LimiterState,
  untilMs: number,
  late: () => number,
  said: RateInfo | null = null,
  pacing: Pacing = "burst",
) => {
  let state = start;
  let now = T0;
  const times: number[] = [];
  while (now < T0 + untilMs) {
    now = Math.max(now, nextSlot(state, 0, now, pacing)) + late();
    const taken = takeSlot(state, 0, now);
    times.push(now);
    const trip = { sentAt: now, answeredAt: now + LATENCY };
    state = observeRate(taken.state, said, 0, now + LATENCY, trip, taken.proof);
  }
  return times;
};

/** A limiter whose first request was answered with these headers. */
const answeredWith = (more: Partial<RateInfo>, configured: number | null = null): LimiterState => {
  const { state, proof } = takeSlot(startLimiter(configured), 0, T0 - 100);
  return observeRate(state, rate(more), 0, T0, { sentAt: T0 - 100, answeredAt: T0 }, proof);
};

describe("any limit, load and lateness", () => {
  const limits = fc.oneof(fc.constantFrom(10, 60, 120, 300), fc.integer({ min: 1, max: 2_000 }));

  test("no sliding minute holds more requests than the limit, at whichever pace", () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 50 }),
        fc.nat(),
        fc.constantFrom<Pacing>("burst", "even"),
        (limit, pauses, seed, pacing) => {
          let turn = seed;
          // Pauses stand for idle times, slow callers and late timers alike.
          const late = () => (turn++ % 7 === 0 ? (pauses[turn % pauses.length] ?? 0) : turn % 3);
          const times = saturate(startLimiter(limit), 200_000, late, null, pacing);
          expect(mostWithin(times, MINUTE)).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 100) },
    );
  });

  test("a limit that is learned on the way holds from the first request on", () => {
    fc.assert(
      fc.property(limits, (limit) => {
        const times = saturate(startLimiter(null), 130_000, () => 1, rate({ limit, windowMs: MINUTE }));
        expect(mostWithin(times, MINUTE)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 100) },
    );
  });
});

describe("the schedule", () => {
  test("what the window allows goes at once, and the rest when the window has room", () => {
    const times = saturate(startLimiter(60), 61_000, () => 0);
    expect((times[59] ?? 0) - T0).toBeLessThanOrEqual(59 * LATENCY);
    expect((times[60] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(MINUTE);
    expect((times[60] ?? 0) - (times[0] ?? 0)).toBeLessThanOrEqual(MINUTE + 500);
  });

  test("an even pace is spread over the window, and catches up one late timer at most", () => {
    const times = saturate(startLimiter(60), 60_000, () => 30, null, "even");
    expect(times.length).toBeGreaterThanOrEqual(58);
    expect(mostWithin(times, 500)).toBeLessThanOrEqual(2);
  });

  test("a rate that nobody names is spread, too: 300 a minute", () => {
    const times = saturate(startLimiter(null), 60_000, () => 0);
    expect(mostWithin(times.slice(1), 199)).toBeLessThanOrEqual(2);
    expect(times.length).toBeGreaterThan(290);
  });

  test("the first request goes alone until it is answered", () => {
    const { state, proof } = takeSlot(startLimiter(60), 0, T0);
    expect(nextSlot(state, 1, T0 + 10)).toBe(Infinity);
    const answered = observeRate(state, null, 0, T0 + 80, { sentAt: T0, answeredAt: T0 + 80 }, proof);
    expect(nextSlot(answered, 0, T0 + 80)).toBeLessThanOrEqual(T0 + 80);
  });

  test("one more request in flight than was ever answered together is tried, not many", () => {
    const state = { ...answeredWith({ limit: 300, windowMs: MINUTE }), provenBurst: 100, provenInFlight: 4 };
    expect(nextSlot(state, 4, T0)).toBeLessThanOrEqual(T0);
    expect(nextSlot(state, 5, T0)).toBe(Infinity);
  });
});

describe("the rate in force", () => {
  const learn = (configured: number | null, more: Partial<RateInfo>) =>
    ratePerMinute(answeredWith(more, configured), T0);

  test("headers lower what the user set, and never raise it", () => {
    expect(learn(300, { limit: 60, windowMs: MINUTE })).toBeCloseTo(60);
    expect(learn(60, { limit: 300, windowMs: MINUTE })).toBeCloseTo(60);
    expect(learn(null, { limit: 600, windowMs: MINUTE })).toBeCloseTo(600);
    expect(learn(60, { limit: 600, windowMs: 60 * MINUTE })).toBeCloseTo(10);
    expect(learn(null, {})).toBeCloseTo(300);
  });

  test("a limit below one says nothing; one is one", () => {
    expect(learn(null, { limit: 0 })).toBeCloseTo(300);
    expect(learn(null, { limit: 1 })).toBeCloseTo(1);
  });

  test("a limit without a window is per minute, unless two resets in a row lie beyond one", () => {
    const hour = { limit: 3_600, remaining: 3_599, resetsAt: T0 + 1_800_000 };
    const once = answeredWith(hour);
    expect(ratePerMinute(once, T0)).toBeCloseTo(3_600);
    const twice = observeRate(once, rate(hour), 0, T0 + 100, { sentAt: T0, answeredAt: T0 + 100 });
    expect(ratePerMinute(twice, T0)).toBeCloseTo(120);
  });
});

describe("what the service says is left", () => {
  const trip = (sentAt: number) => ({ sentAt, answeredAt: sentAt + 50 });
  const held = (remaining: number) => answeredWith({ limit: 300, windowMs: MINUTE, remaining, resetsAt: T0 + 20_000 });

  test("nothing left: none goes before the reset, then one goes to ask, and its answer lets the others go", () => {
    const state = held(0);
    expect(nextSlot(state, 0, T0)).toBe(T0 + 21_000);
    const { state: asking, proof } = takeSlot(state, 0, T0 + 21_000);
    expect(nextSlot(asking, 1, T0 + 21_000)).toBe(Infinity);
    const figures = rate({ limit: 300, windowMs: MINUTE, remaining: 299, resetsAt: T0 + 80_000 });
    const asked = observeRate(asking, figures, 0, T0 + 21_050, trip(T0 + 21_000), proof);
    expect(nextSlot(asked, 0, T0 + 21_050)).toBeLessThanOrEqual(T0 + 21_050);
    // Its answer may name no figures.
    const silent = observeRate(asking, null, 0, T0 + 21_050, trip(T0 + 21_000), proof);
    expect(nextSlot(silent, 0, T0 + 21_050)).toBeLessThanOrEqual(T0 + 21_050);
  });

  test("requests in flight count against it: only as many go as are certainly free", () => {
    const state = { ...held(3), provenInFlight: 9, provenBurst: 100 };
    expect(nextSlot(state, 2, T0)).toBeLessThanOrEqual(T0);
    expect(nextSlot(state, 3, T0)).toBe(T0 + 21_000);
  });

  test("a request of the millisecond in which a figure came may have been counted before it: the lower figure stays", () => {
    const figures = rate({ limit: 300, windowMs: MINUTE, remaining: 9, resetsAt: T0 + 20_000 });
    const leftOver = (sentAt: number) => observeRate(held(3), figures, 0, sentAt + 50, trip(sentAt)).left?.remaining;
    expect([leftOver(T0), leftOver(T0 + 1)]).toEqual([3, 9]);
  });

  test("answers that come in another order than their requests leave the lowest figure", () => {
    const state = held(100);
    const later = observeRate(
      state,
      rate({ limit: 300, remaining: 98, resetsAt: T0 + 20_000 }),
      1,
      T0 + 90,
      trip(T0 + 20),
    );
    const earlier = observeRate(
      later,
      rate({ limit: 300, remaining: 97, resetsAt: T0 + 20_000 }),
      0,
      T0 + 95,
      trip(T0 + 10),
    );
    expect(earlier.left?.remaining).toBe(97);
  });

  test("what this process used up itself holds nothing back: its windows keep the limit", () => {
    let state = answeredWith({ limit: 60, windowMs: MINUTE, remaining: 59, resetsAt: T0 + MINUTE });
    for (let n = 2; n <= 60; n += 1) {
      const at = T0 + n * 10;
      const taken = takeSlot(state, 0, at);
      const figures = rate({ limit: 60, windowMs: MINUTE, remaining: 60 - n, resetsAt: at + MINUTE });
      state = observeRate(taken.state, figures, 0, at + 5, { sentAt: at, answeredAt: at + 5 }, taken.proof);
    }
    expect(nextSlot(state, 0, T0 + 700)).toBeLessThan(T0 + 61_000);
  });

  test("a window without a name whose reset is near is followed by its figures alone", () => {
    const near = answeredWith({ limit: 10, remaining: 3, resetsAt: T0 + 900 });
    expect(nextSlot(near, 0, T0)).toBeLessThanOrEqual(T0);
    const empty = observeRate(near, rate({ limit: 10, remaining: 0, resetsAt: T0 + 950 }), 0, T0 + 50, trip(T0));
    expect(nextSlot(empty, 0, T0 + 50)).toBe(T0 + 950);
  });

  test("Retry-After blocks everything until then", () => {
    expect(nextSlot(answeredWith({ retryAt: T0 + 7_000 }), 0, T0)).toBe(T0 + 7_000);
  });
});
