// What refusals teach: a rate, a burst, a window or a number in flight, each its own.
import { describe, expect, test } from "vitest";
import { refuse } from "../../../../src/budget/rate/learned-limits.ts";
import { nextSlot, observeRate, type Proof } from "../../../../src/budget/rate/limiter.ts";
import { type LimiterState, startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { limitsAt } from "../../../../src/budget/rate/windows.ts";
import { said } from "../../../support/rate-info.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const MINUTE = 60_000;
const ratePerMinute = (state: LimiterState, now: number) => MINUTE * limitsAt(state, now).speed;
const burstOf = (state: LimiterState, now: number) => limitsAt(state, now).learned?.burst ?? null;
const inFlightOf = (state: LimiterState, now: number) => limitsAt(state, now).learned?.inFlight ?? null;
const windowOf = (state: LimiterState, now: number) => limitsAt(state, now).window;

/** A limiter of 300 a minute after `answered` requests in the last second. */
const busy = (answered: number, more: Partial<LimiterState> = {}): LimiterState => {
  let state = startLimiter(300);
  for (let n = 0; n < answered; n += 1) state = observeRate(state, null, 0, T0 - 500);
  return { ...state, provenBurst: answered, provenInFlight: 3, heardUpTo: T0 - 500, ...more };
};
const proof = (more: Partial<Proof> = {}): Proof => ({ at: T0 - 40, level: 61, inFlight: 1, ...more });
const refusal = (waitMs: number, cause: "rate" | "in-flight" | "unclear" = "rate", isNamed = true) => ({
  untilMs: T0 + waitMs,
  cause,
  namedAt: isNamed ? T0 + waitMs : null,
});

test("a short wait is that for a bucket's next token: its burst is kept from then on, at the rate in force", () => {
  const state = refuse(busy(60), refusal(1_000), proof(), false, T0);
  expect(burstOf(state, T0)).toBe(54);
  expect(ratePerMinute(state, T0)).toBe(300);
  const full = { ...state, emptyAt: T0 + 60_000 };
  expect(nextSlot(full, 0, T0 + 2_000)).toBeCloseTo(T0 + 60_000 - 53 * 200);
});

test("a bucket whose size was guessed too large is found by the next refusals", () => {
  const guessed = refuse(busy(12), refusal(1_000), proof({ level: 12 }), false, T0);
  expect(burstOf(guessed, T0)).toBe(9);
  const later = { ...guessed, provenBurst: 3, refusedAt: T0 };
  expect(burstOf(refuse(later, refusal(2_000), proof({ at: T0 + 960, level: 4 }), false, T0 + 1_000), T0)).toBe(2);
});

test("a bucket is found by the wait that the service names, not by our own, which grew with each refusal", () => {
  const grown = { ...refusal(40_000), namedAt: T0 + 1_000 };
  const state = refuse(busy(4), grown, proof({ level: 4 }), false, T0);
  expect([burstOf(state, T0), state.blockedUntil]).toEqual([2, T0 + 40_000]);
});

test("a bucket of one token is kept from answer to answer", () => {
  const state = refuse(busy(1), refusal(1_000), proof({ level: 2 }), false, T0);
  expect(burstOf(state, T0)).toBe(1);
  expect(nextSlot(state, 1, T0 + 2_000)).toBe(Infinity);
});

test("a long wait is that for the end of a window: it allows what it held", () => {
  const state = refuse(busy(150), refusal(40_000), proof({ level: 151 }), false, T0);
  expect(windowOf(state, T0)).toEqual({ limit: 150, windowMs: MINUTE });
  expect(windowOf(state, T0 + 3_600_000)).toBeNull();
  // A second such refusal lowers it; hardly a request shows nothing.
  let later = state;
  for (let n = 0; n < 140; n += 1) later = observeRate(later, null, 0, T0 + 45_000);
  const again = refuse(later, refusal(90_000), proof({ at: T0 + 46_000, level: 141 }), false, T0 + 46_050);
  expect(windowOf(again, T0)).toEqual({ limit: 135, windowMs: MINUTE });
  expect(refuse(busy(20), refusal(40_000), proof({ level: 21 }), false, T0).learned).toBeNull();
});

test("others who use up the limit explain a refusal: nothing is learned", () => {
  expect(refuse(busy(60), refusal(1_000), proof(), true, T0).learned).toBeNull();
});

test("requests that left before a refusal show nothing new, they only wait", () => {
  const once = refuse(busy(60), refusal(1_000), proof(), false, T0);
  const volley = refuse(once, refusal(3_000), proof({ at: T0 - 10, level: 63 }), false, T0 + 20);
  expect(volley).toEqual({ ...once, blockedUntil: T0 + 3_000 });
});

describe("requests in flight", () => {
  test("named as the reason: one less is kept, nothing waits, and the rate stays", () => {
    const state = refuse(busy(60), refusal(2_000, "in-flight", false), proof({ inFlight: 3 }), false, T0);
    expect(inFlightOf(state, T0)).toBe(2);
    expect(burstOf(state, T0)).toBeNull();
    expect(nextSlot(state, 1, T0)).toBeLessThanOrEqual(T0);
    expect(nextSlot(state, 2, T0)).toBe(Infinity);
  });

  test("a refusal without a reason of the first request that was one more than ever is taken for that", () => {
    const unclear = refusal(2_000, "unclear", false);
    const state = refuse(busy(60, { provenInFlight: 4 }), unclear, proof({ inFlight: 5, level: 30 }), false, T0);
    expect(inFlightOf(state, T0)).toBe(4);
    // Refused alone, it was the rate.
    const alone = refuse(state, unclear, proof({ at: T0 + 10, inFlight: 1, level: 61 }), false, T0 + 50);
    expect(inFlightOf(alone, T0)).toBeNull();
    expect(burstOf(alone, T0)).toBe(54);
  });
});

test("other limits in the headers void what was learned of the earlier ones", () => {
  const announced = observeRate(busy(60), said({ limit: 300, windowMs: MINUTE }), 0, T0 - 100);
  const state = refuse(announced, refusal(1_000), proof(), false, T0);
  expect(observeRate(state, said({ limit: 300, windowMs: MINUTE }), 0, T0 + 10).learned).not.toBeNull();
  expect(observeRate(state, said({ limit: 600, windowMs: MINUTE }), 0, T0 + 10)).toMatchObject({ learned: null });
});

describe("a rate that nobody names", () => {
  const refused = (state: LimiterState, at: number) => refuse(state, refusal(2_000), proof({ at: at - 1 }), false, at);

  test("steps down the published plans, once per burst of refusals", () => {
    let state = observeRate(startLimiter(null), null, 0, T0 - MINUTE);
    const seen = [300, 120, 60, 10, 10];
    seen.forEach((expected, step) => {
      expect(ratePerMinute(state, T0)).toBeCloseTo(expected);
      const now = T0 + step * MINUTE;
      state = refuse(refused(state, now), refusal(2_000), proof({ at: now - 10 }), false, now + 10);
      expect(nextSlot(state, 0, now)).toBe(state.blockedUntil);
    });
  });

  test("a configured or announced rate is no guess: it is only paused", () => {
    expect(ratePerMinute(refused(startLimiter(300), T0), T0)).toBeCloseTo(300);
  });
});
