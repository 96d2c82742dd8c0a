// The limiter's arithmetic: never more than the limit in any window, hardly less when saturated.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RateInfo } from "../../../../src/api/outcome.ts";
import { backOff, nextSlot, observeRate, ratePerMinute, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { type LimiterState, startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { said as rate } from "../../../support/rate-info.ts";

const T0 = Date.UTC(2026, 0, 5, 10);

/** Most times within any window of this length, wherever it starts. */
const mostWithin = (times: readonly number[], windowMs: number): number => {
  let first = 0;
  let most = 0;
  times.forEach((time, index) => {
    while (time - (times[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
};

/** Requests that leave as soon as they may, each timer `late` ms late, until `untilMs`. */
const saturate = (start: LimiterState, untilMs: number, late: () => number): number[] => {
  let state = start;
  let now = T0;
  const times: number[] = [];
  while (now < T0 + untilMs) {
    now = Math.max(now, nextSlot(state).at) + late();
    state = takeSlot(state, now);
    times.push(now);
  }
  return times;
};

describe("any limit, load and lateness", () => {
  const limits = fc.oneof(fc.constantFrom(10, 60, 120, 300), fc.integer({ min: 1, max: 2_000 }));

  test("no sliding minute holds more requests than the limit", () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 50 }),
        fc.nat(),
        (limit, pauses, seed) => {
          let turn = seed;
          // Pauses stand for idle times, slow callers and late timers alike.
          const late = () => (turn++ % 7 === 0 ? (pauses[turn % pauses.length] ?? 0) : turn % 3);
          const times = saturate(startLimiter(limit), 200_000, late);
          expect(mostWithin(times, 60_000)).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 200) },
    );
  });

  test("saturated, at least 97% of the limit is used although timers fire late", () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 0, max: 15 }), (limit, lateMs) => {
        const minutes = 10 + Math.ceil(200 / limit);
        // Before the first answer no more than a published plan's rate is used.
        const answered = observeRate(startLimiter(limit), null, 0, T0);
        const sent = saturate(answered, minutes * 60_000, () => lateMs).length;
        expect(sent / (limit * minutes)).toBeGreaterThanOrEqual(0.97);
      }),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 50) },
    );
  });

  test("a limit that is learned on the way holds from the first request on", () => {
    fc.assert(
      fc.property(limits, fc.nat({ max: 2_000 }), (limit, latencyMs) => {
        const first = takeSlot(startLimiter(null), T0);
        const learned = observeRate(first, rate({ limit, windowMs: 60_000 }), 0, T0 + latencyMs);
        const times = [T0, ...saturate(learned, 130_000, () => 1)];
        expect(mostWithin(times, 60_000)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 200) },
    );
  });
});

describe("the rate in force", () => {
  const learn = (configured: number | null, said: Partial<RateInfo>) =>
    Math.round(ratePerMinute(observeRate(startLimiter(configured), rate(said), 0, T0)) * 1.01);

  test("headers lower what the user set, and never raise it", () => {
    expect(learn(300, { limit: 60, windowMs: 60_000 })).toBe(60);
    expect(learn(60, { limit: 300, windowMs: 60_000 })).toBe(60);
    expect(learn(null, { limit: 600, windowMs: 60_000 })).toBe(600);
  });

  test("a limit without a window is per minute, unless its reset lies beyond one", () => {
    expect(learn(null, { limit: 120 })).toBe(120);
    expect(learn(null, { limit: 120, resetsAt: T0 + 6_000 })).toBe(120);
    expect(learn(null, { limit: 3_600, resetsAt: T0 + 1_800_000 })).toBe(120);
  });

  test("an hour's window that is nearly over is still an hour's", () => {
    const early = observeRate(startLimiter(null), rate({ limit: 3_600, resetsAt: T0 + 1_800_000 }), 0, T0);
    const late = observeRate(early, rate({ limit: 3_600, resetsAt: T0 + 1_800_000 }), 0, T0 + 1_790_000);
    expect(Math.round(ratePerMinute(late) * 1.01)).toBe(120);
  });
});

describe("a window without a name, before anything shows its length", () => {
  const first = takeSlot(startLimiter(null), T0);
  const near = (remaining: number, at: number) => rate({ limit: 10, remaining, resetsAt: at + 900 });

  test("a near reset means that what remains may be sent now, and not in a minute", () => {
    let state = observeRate(first, near(3, T0 + 50), 0, T0 + 50);
    const moments = [0, 0, 0].map(() => {
      const { at } = nextSlot(state);
      state = takeSlot(state, Math.max(at, T0 + 50));
      return at - T0;
    });
    expect(moments.every((ms) => ms < 1_000)).toBe(true);
    expect(nextSlot(state)).toEqual({ at: T0 + 950, why: "remaining" });
  });

  test("a reset of half a minute or more is taken for that of a minute, and the rate is spread over it", () => {
    const state = observeRate(first, rate({ limit: 60, remaining: 59, resetsAt: T0 + 31_000 }), 0, T0 + 50);
    expect(Math.round(ratePerMinute(state) * 1.01)).toBe(60);
  });

  test("after a refusal a reset is believed to be rounded down", () => {
    let state = observeRate(first, near(0, T0 + 50), 0, T0 + 50);
    expect(nextSlot(state).at).toBe(T0 + 950);
    state = backOff(state, T0 + 500, T0 + 60);
    expect(nextSlot(observeRate(state, near(0, T0 + 700), 0, T0 + 700)).at).toBe(T0 + 2_600);
  });
});

describe("what the service says is left", () => {
  const started = takeSlot(startLimiter(300), T0);

  test("nothing left: none goes before the reset, then one goes to ask, and its answer lets the others go", () => {
    const state = observeRate(started, rate({ limit: 300, remaining: 0, resetsAt: T0 + 20_000 }), 0, T0 + 100);
    expect(nextSlot(state)).toEqual({ at: T0 + 20_000, why: "remaining" });
    const after = takeSlot(state, T0 + 20_000);
    expect(nextSlot(after).why).toBe("remaining");
    const asked = observeRate(after, rate({ limit: 300, remaining: 299, resetsAt: T0 + 80_000 }), 0, T0 + 20_050);
    expect(nextSlot(asked).why).toBe("pace");
  });

  test("an answer to the one that asks lets the others go, even if it names no figures; an earlier answer does not", () => {
    const held = observeRate(started, rate({ limit: 300, remaining: 0, resetsAt: T0 + 20_000 }), 0, T0 + 100);
    const early = observeRate(held, null, 0, T0 + 200, { sentAt: T0 + 150, answeredAt: T0 + 200 });
    expect(nextSlot(early)).toEqual({ at: T0 + 20_000, why: "remaining" });
    const asking = takeSlot(early, T0 + 20_000);
    const late = observeRate(asking, null, 0, T0 + 20_010, { sentAt: T0 + 19_000, answeredAt: T0 + 20_010 });
    expect(nextSlot(late).why).toBe("remaining");
    const trip = { sentAt: T0 + 20_000, answeredAt: T0 + 20_050 };
    expect(nextSlot(observeRate(asking, null, 0, T0 + 20_050, trip)).why).toBe("pace");
    expect(nextSlot(observeRate(asking, rate({ limit: 300 }), 0, T0 + 20_050, trip)).why).toBe("pace");
  });

  test("requests in flight count against it: only as many go as are certainly free", () => {
    let state = observeRate(started, rate({ remaining: 5, resetsAt: T0 + 20_000 }), 3, T0 + 100);
    for (const expected of ["pace", "pace", "remaining"] as const) {
      expect(nextSlot(state).why).toBe(expected);
      state = takeSlot(state, nextSlot(state).at);
    }
  });

  test("what this process used up itself needs no wait: its spacing already keeps the limit", () => {
    let state = startLimiter(60);
    for (let n = 0; n < 60; n += 1) state = takeSlot(state, Math.max(T0, nextSlot(state).at));
    const now = nextSlot(state).at - 900;
    const ours = observeRate(state, rate({ limit: 60, remaining: 0, resetsAt: now + 60_000 }), 0, now);
    expect(nextSlot(ours).why).toBe("pace");
    const someoneElses = observeRate(started, rate({ limit: 60, remaining: 0, resetsAt: T0 + 60_000 }), 0, T0);
    expect(nextSlot(someoneElses).why).toBe("remaining");
  });

  test("a later answer that knows better ends the wait", () => {
    const held = observeRate(started, rate({ remaining: 2, resetsAt: T0 + 60_000 }), 4, T0 + 100);
    expect(nextSlot(held).why).toBe("remaining");
    expect(nextSlot(observeRate(held, rate({ remaining: 3, resetsAt: T0 + 60_200 }), 1, T0 + 300)).why).toBe("pace");
  });

  test("Retry-After blocks everything until then", () => {
    expect(nextSlot(observeRate(started, rate({ retryAt: T0 + 7_000 }), 0, T0))).toEqual({
      at: T0 + 7_000,
      why: "refused",
    });
  });
});

describe("a rate that nobody names", () => {
  test("starts at the fastest plan and steps down with each refusal, once per burst of them", () => {
    let state = observeRate(takeSlot(startLimiter(null), T0), null, 0, T0 + 50);
    const seen = [300, 120, 60, 10, 10];
    seen.forEach((expected, step) => {
      expect(Math.round(ratePerMinute(state) * 1.01)).toBe(expected);
      const now = T0 + step * 60_000;
      for (let refusal = 0; refusal < 5; refusal += 1) state = backOff(state, now + 2_000, now + refusal * 10);
      expect(nextSlot(state)).toMatchObject({ at: expect.any(Number), why: "refused" });
    });
  });

  test("after refusals that its requests do not explain, it is tried again after a minute of answers, once", () => {
    /** Sends for `seconds` at the rate in force; every request is answered without headers. */
    const answered = (start: LimiterState, from: number, seconds: number): LimiterState => {
      let state = start;
      for (let at = nextSlot(state).at; at < from + seconds * 1_000; at = nextSlot(state).at)
        state = observeRate(takeSlot(state, at), null, 0, at + 50, { sentAt: at, answeredAt: at + 50 });
      return state;
    };
    const perMinute = (state: LimiterState) => Math.round(ratePerMinute(state) * 1.01);
    let state = backOff(takeSlot(startLimiter(null), T0), T0 + 2_000, T0);
    expect(perMinute(state)).toBe(120);
    expect(perMinute(answered(state, T0, 55))).toBe(120);
    state = answered(state, T0, 65);
    expect(perMinute(state)).toBe(300);
    state = backOff(state, T0 + 70_000, T0 + 66_000);
    expect(perMinute(state)).toBe(120);
    expect(perMinute(answered(state, T0 + 70_000, 300))).toBe(120);
  });

  test("a configured or learned rate is not lowered by a refusal, only paused", () => {
    expect(ratePerMinute(backOff(startLimiter(300), T0 + 2_000, T0))).toBe(ratePerMinute(startLimiter(300)));
    const learned = observeRate(startLimiter(null), rate({ limit: 240, windowMs: 60_000 }), 0, T0);
    expect(ratePerMinute(backOff(learned, T0 + 2_000, T0))).toBe(ratePerMinute(learned));
  });

  test("the first request goes alone until it is answered, or half a minute passed", () => {
    const alone = takeSlot(startLimiter(null), T0);
    expect(nextSlot(alone)).toEqual({ at: T0 + 30_000, why: "first-answer" });
    expect(nextSlot(observeRate(alone, null, 0, T0 + 80)).why).toBe("pace");
    expect(nextSlot(takeSlot(startLimiter(60), T0)).why).toBe("pace");
  });
});
