// What the limiter decides at its edges, one rule at a time (limiter.test.ts says what must hold over a whole history).
import { describe, expect, test } from "vitest";
import type { RateInfo } from "../../../../src/api/outcome.ts";
import { backOff, nextSlot, observeRate, ratePerMinute, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { type LimiterState, startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { type UsageWatch, watchUsage } from "../../../../src/budget/rate/usage-watch.ts";
import { said } from "../../../support/rate-info.ts";

const MINUTE = 60_000;
/** The end of a tally of a minute's window. */
const T0 = 1_800_000_000_000;

/** A limiter that has sent a request at `T0`, and whose service has answered before. */
const running = (more: Partial<LimiterState> = {}): LimiterState => ({
  ...startLimiter(60),
  started: true,
  slot: T0,
  heardUpTo: T0 - MINUTE,
  ...more,
});
/** One whose rate only the service names. */
const learned = (limit: number, windowMs: number, more: Partial<LimiterState> = {}): LimiterState =>
  running({ configured: null, learned: { limit, windowMs }, ...more });
const watchOf = (limit: number, windowMs: number, more: Partial<UsageWatch> = {}): UsageWatch => ({
  ...watchUsage(null, { limit, windowMs, remaining: 0, resetsAt: null, sentAt: T0, now: T0 }, { limit, windowMs }, 0),
  ...more,
});
const refused = (refusals: number, calmUntil = T0 + MINUTE): Partial<LimiterState> => ({ refusals, calmUntil });

describe("the rate in force", () => {
  test("is no more than a published plan's before the first answer", () => {
    const fast = startLimiter(600);
    expect(ratePerMinute(fast)).toBeCloseTo(300 / 1.01);
    expect(ratePerMinute(observeRate(fast, null, 0, T0))).toBeCloseTo(600 / 1.01);
  });

  test.each([
    { after: "no refusal", more: {}, most: 60 },
    { after: "one", more: refused(1), most: 58 },
    { after: "two", more: refused(2), most: 56 },
    { after: "many", more: refused(50), most: 48 },
    { after: "one, once caution is over", more: refused(1, T0), most: 60 },
  ])(
    "a window takes 3% fewer requests for each recent refusal, 20% at most: $most of 60 after $after",
    ({ more, most }) => {
      const nextAfter = (count: number) => nextSlot(running({ sent: [{ from: T0, count }], ...more })).at;
      expect(nextAfter(most - 1)).toBe(T0 + 1_010);
      expect(nextAfter(most)).toBe(T0 + MINUTE);
    },
  );

  test("a limit that is no whole number is used in full", () => {
    const half = running({ configured: 2.5, sent: [{ from: T0, count: 2 }] });
    expect(nextSlot(half).at).toBeCloseTo(T0 + 24_240);
  });

  test("a window takes one request at least, however often it was refused", () => {
    const one = (count: number) =>
      nextSlot(running({ configured: 1, slot: -Infinity, sent: [{ from: T0, count }], ...refused(1, Infinity) })).at;
    expect(one(1)).toBe(T0 + MINUTE);
  });
});

describe("a timer that fires late", () => {
  const also = [{ limit: 100, windowMs: 100_000 }];

  test.each([
    { rule: "a quarter of a very short window", state: learned(1, 400), most: 100 },
    { rule: "250 ms of a short one", state: learned(1, 2_000), most: 250 },
    { rule: "a twentieth of a minute", state: running(), most: 3_000 },
    { rule: "five seconds of an hour", state: learned(60, 3_600_000), most: 5_000 },
    { rule: "a quarter of that after a refusal", state: running(refused(1)), most: 750 },
    { rule: "all of it once caution is over", state: running(refused(1, T0)), most: 3_000 },
    {
      rule: "half of the margin that the spacing leaves in another window",
      state: learned(60, MINUTE, { also }),
      most: 500,
    },
    { rule: "the same beside what the user set", state: learned(3_600, 3_600_000, { configured: 60 }), most: 300 },
  ])("is caught up by $rule, and a longer delay is not", ({ state, most }) => {
    const due = nextSlot(state).at;
    expect(takeSlot(state, due + most).slot).toBeCloseTo(due, 3);
    expect(takeSlot(state, due + most + 1).slot).toBeGreaterThan(due + 0.5);
  });

  test.each([
    { share: "a quarter of a percent of the window", state: running(), most: 150 },
    { share: "less where a shorter delay may be caught up", state: running(refused(3)), most: 46.875 },
  ])("idle time is caught up by $share", ({ state, most }) => {
    expect(takeSlot(state, T0 + 30_000).slot).toBe(T0 + 30_000 - most);
  });
});

describe("requests that were sent", () => {
  test("stay counted for 1.3 windows and five seconds, since the service may count them late", () => {
    const old = [
      { from: T0 - 83_000, count: 1 },
      { from: T0 - 82_999, count: 2 },
    ];
    expect(takeSlot(running({ sent: old }), T0).sent).toEqual([old[1], { from: T0, count: 1 }]);
  });

  test("count later by the share of a slow answer that passes before the service counts them", () => {
    const watch = watchOf(60, MINUTE, { lateShare: 0.5 });
    const sent = running({ watch, fastestMs: 100, sent: [{ from: T0, count: 1 }] });
    const slow = observeRate(sent, null, 0, T0 + 4_100, { sentAt: T0, answeredAt: T0 + 4_100 });
    expect(slow).toMatchObject({ fastestMs: 100, sent: [{ from: T0 + 2_000, count: 1 }] });
  });

  test("that share falls to a quarter while much is left unused, and to a half after a refusal", () => {
    const shareAfter = (more: Partial<LimiterState>) => {
      const watch = watchOf(100, MINUTE, { lateShare: 0.5, sent: 100, since: T0, mostUsed: 0 });
      const figures = said({ limit: 100, windowMs: MINUTE, remaining: 20, resetsAt: null });
      return observeRate(learned(100, MINUTE, { watch, ...more }), figures, 0, T0 + 75_000).watch?.lateShare;
    };
    expect(shareAfter({})).toBe(0.25);
    expect(shareAfter(refused(1, T0 + 75_001))).toBe(0.5);
    expect(shareAfter(refused(1, T0 + 75_000))).toBe(0.25);
  });

  test("explain what the service counts if they arrived in its window, however late", () => {
    // The answer took 200 ms longer than the fastest one; 20 ms for reading clocks and two tallies come on top.
    const late = MINUTE + 200 + 20 + 1_000;
    const spareWith = (ago: number) => {
      const sent = [
        { from: T0 - ago, count: 2 },
        { from: T0, count: 1 },
      ];
      const state = learned(100, MINUTE, { watch: watchOf(100, MINUTE), fastestMs: 100, sent, spare: 0 });
      const figures = said({ limit: 100, windowMs: MINUTE, remaining: 97, resetsAt: T0 + 5_000 });
      return observeRate(state, figures, 0, T0 + 300, { sentAt: T0, answeredAt: T0 + 300 }).spare;
    };
    expect(spareWith(late - 1)).toBeNull();
    // Others have used some. The request of this answer may not be among them.
    expect(spareWith(late)).toBe(96);
  });
});

describe("an estimated window that this process has filled", () => {
  const NOW = T0 + 1_000;
  const filled = (limit: number, more: Partial<UsageWatch> = {}) =>
    learned(limit, MINUTE, {
      watch: watchOf(limit, MINUTE, { announced: false, ...more }),
      sent: [{ from: T0, count: limit }],
      spare: 7,
      refilledAt: T0 + 9,
    });
  const heldBy = (state: LimiterState, resetInMs: number, more: Partial<RateInfo> = {}) => {
    const limit = state.learned?.limit ?? 0;
    const figures = said({ limit, remaining: 0, resetsAt: NOW + resetInMs, ...more });
    const { spare, refilledAt } = observeRate(state, figures, 0, NOW);
    return spare === null ? null : [spare, refilledAt - NOW];
  };

  test.each([
    { rule: "until a reset that is soon", held: heldBy(filled(10), 8_000), until: 8_000 },
    { rule: "for one spacing at least", held: heldBy(filled(10), 1_000), until: 6_060 },
    { rule: "if it is two spacings away", held: heldBy(filled(10), 12_120), until: 12_120 },
    { rule: "or a second at a faster rate", held: heldBy(filled(600), 1_000), until: 1_000 },
    {
      rule: "and for what rounding hides after a refusal",
      held: heldBy(filled(10, { refusedMs: 1 }), 8_000),
      until: 9_000,
    },
  ])("holds requests back $rule", ({ held, until }) => {
    expect(held).toEqual([0, until]);
  });

  test.each([
    { rule: "a reset further away than two spacings", held: heldBy(filled(10), 12_121) },
    { rule: "or than a second at a faster rate", held: heldBy(filled(600), 1_001) },
    { rule: "a request that is left", held: heldBy(filled(10), 8_000, { remaining: 1 }) },
    { rule: "a window that is announced", held: heldBy(filled(10, { announced: true }), 8_000, { windowMs: MINUTE }) },
  ])("$rule holds none back", ({ held }) => {
    expect(held).toBeNull();
  });
});

describe("what the service says is left", () => {
  test("the one request after the reset asks alone for a window, half a minute at most", () => {
    const empty = { spare: 0, refilledAt: T0 };
    const asking = { spare: 0, askedAt: T0 };
    expect(takeSlot(learned(5, 5_000, empty), T0)).toMatchObject({ ...asking, refilledAt: T0 + 5_000 });
    expect(takeSlot(learned(5, MINUTE, empty), T0)).toMatchObject({ ...asking, refilledAt: T0 + 30_000 });
  });

  test("an answer without figures is the one to it if it was sent then, give or take what two readings of the clock differ", () => {
    const asking = running({ spare: 0, refilledAt: T0 + 30_000, askedAt: T0 });
    const answered = (sentAt: number) => observeRate(asking, null, 0, T0 + 50, { sentAt, answeredAt: T0 + 50 });
    expect(answered(T0 - 20)).toMatchObject({ spare: null, askedAt: null });
    expect(answered(T0 - 21)).toMatchObject({ spare: 0, askedAt: T0 });
  });

  test("is one less than it says where it does not count the request it answers", () => {
    const figures = said({ limit: 10, remaining: 10, resetsAt: T0 + 30_000 });
    expect(observeRate(startLimiter(null), figures, 0, T0)).toMatchObject({ spare: 9, refilledAt: T0 + 30_000 });
  });

  test("holds for a moment although its reset is past", () => {
    const figures = said({ limit: 10, remaining: 0, resetsAt: T0 - 5_000 });
    expect(observeRate(startLimiter(null), figures, 0, T0)).toMatchObject({ spare: 0, refilledAt: T0 + 200 });
  });

  test("is outdated once a later request was answered, but Retry-After is not", () => {
    const state = running({ spare: 5, refilledAt: T0 + 9, heardUpTo: T0 });
    const figures = said({ limit: 10, remaining: 0, resetsAt: T0 + 40_000, retryAt: T0 + 7_000 });
    const heard = (sentAt: number) => observeRate(state, figures, 0, T0 + 50, { sentAt, answeredAt: T0 + 50 });
    expect(heard(T0 - 1)).toMatchObject({ spare: 5, learned: null, heardUpTo: T0, blockedUntil: T0 + 7_000 });
    expect(heard(T0)).toMatchObject({ spare: 0, learned: { limit: 10 }, blockedUntil: T0 + 7_000 });
  });
});

describe("after a refusal", () => {
  test.each([
    {
      rule: "a second longer, since resets are rounded down",
      watch: { announced: false, refusedMs: 1 },
      window: MINUTE,
      more: 1_000,
    },
    {
      rule: "a twentieth of a short window longer",
      watch: { announced: false, refusedMs: 1 },
      window: 6_000,
      more: 300,
    },
    {
      rule: "no longer while resets were not found to be rounded",
      watch: { announced: false },
      window: MINUTE,
      more: 0,
    },
    { rule: "no longer where the window is announced", watch: { refusedMs: 1 }, window: MINUTE, more: 0 },
  ])("requests wait $rule", ({ watch, window, more }) => {
    const state = learned(10, window, { watch: watchOf(10, window, watch) });
    expect(backOff(state, T0 + 2_000, T0).blockedUntil).toBe(T0 + 2_000 + more);
  });

  test("a guessed rate that was tried again is lowered for good, unless there was no other refusal for ten minutes", () => {
    const tried = (calmUntil: number) => running({ configured: null, retried: 300, calmUntil });
    expect(backOff(tried(T0 + 1), T0, T0)).toMatchObject({ assumed: 120, loweredFrom: null });
    expect(backOff(tried(T0), T0, T0)).toMatchObject({ assumed: 120, loweredFrom: 300, calmUntil: T0 + 600_000 });
  });

  test("a lowered rate is tried again only after a minute in which half of it was used", () => {
    const lowered = (count: number) =>
      running({ configured: null, assumed: 10, loweredFrom: 60, calmUntil: T0, sent: [{ from: T0, count }] });
    expect(observeRate(lowered(4), null, 0, T0)).toMatchObject({ assumed: 10, loweredFrom: 60, retried: null });
    expect(observeRate(lowered(5), null, 0, T0)).toMatchObject({ assumed: 60, loweredFrom: null, retried: 60 });
  });
});
