import { describe, expect, test } from "vitest";
import {
  refusedUsage,
  sentOne,
  type UsageReading,
  type UsageWatch,
  usedIn,
  watchUsage,
} from "../../../../src/budget/rate/usage-watch.ts";

const T0 = 1_000_000_000;
const SECOND = 1_000;
const PACE = { limit: 100, windowMs: 60_000 };

const aReading = (more: Partial<UsageReading> = {}): UsageReading => ({
  limit: 100,
  windowMs: null,
  remaining: 99,
  resetsAt: null,
  sentAt: T0,
  now: T0,
  ...more,
});
const first = (more: Partial<UsageReading> = {}): UsageWatch => watchUsage(null, aReading(more), PACE, 0);
const next = (watch: UsageWatch, more: Partial<UsageReading>, pace = PACE) =>
  watchUsage(watch, aReading(more), pace, 0);
/** The watch after so many requests, none of them answered yet. */
const sent = (watch: UsageWatch, requests: number): UsageWatch => ({ ...watch, sent: watch.sent + requests });

describe("the first response", () => {
  test("an announced window is taken over and found", () => {
    expect(first({ windowMs: 10 * SECOND })).toMatchObject({ windowMs: 10_000, announced: true, found: true });
  });

  test("an unnamed one is a minute; a reset that is near shows that nothing is known of it", () => {
    expect(first()).toMatchObject({ windowMs: 60_000, announced: false, found: true });
    expect(first({ resetsAt: T0 + 5 * SECOND })).toMatchObject({ windowMs: 60_000, found: false });
    expect(first({ resetsAt: T0 + 40 * SECOND })).toMatchObject({ windowMs: 60_000, found: true });
  });

  test("a reset beyond the minute makes the window as long, up to an hour", () => {
    expect(first({ resetsAt: T0 + 600 * SECOND }).windowMs).toBe(600_000);
    expect(first({ resetsAt: T0 + 90_000 * SECOND }).windowMs).toBe(3_600_000);
  });

  test("another limit, or a window announced at last, begins a watch of its own", () => {
    const before = sent(first(), 30);
    expect(next(before, { limit: 50, remaining: 49 })).toMatchObject({ limit: 50, sent: 0 });
    expect(next(before, { windowMs: 1_000 })).toMatchObject({ windowMs: 1_000, announced: true, sent: 0 });
    expect(next(before, { remaining: 70 }).sent).toBe(30);
  });
});

describe("what counts as used", () => {
  test("a service that reports all of its limit counts before the request, so one more is used than it says", () => {
    expect(usedIn(first({ remaining: 99 }), 90)).toBe(10);
    const before = first({ remaining: 100 });
    expect(before.countsBefore).toBe(true);
    expect([usedIn(before, 90), usedIn(before, null)]).toEqual([11, null]);
    // It stays so, although later responses look like any other.
    expect(next(before, { remaining: 90 }).countsBefore).toBe(true);
  });

  test("without `remaining` only the guess holds requests back", () => {
    expect(first({ remaining: null, resetsAt: T0 + SECOND })).toMatchObject({ found: true, mostUsed: 0 });
  });
});

describe("resets", () => {
  test("one response may be wrong by chance: the window grows only by what two in a row agree on", () => {
    const once = next(first(), { resetsAt: T0 + 300 * SECOND });
    expect([once.windowMs, once.atLeastMs]).toEqual([60_000, 0]);
    const twice = next(once, { resetsAt: T0 + 250 * SECOND });
    expect([twice.windowMs, twice.atLeastMs]).toEqual([250_000, 250_000]);
    // A nearer reset later shows nothing: windows end.
    expect(next(twice, { resetsAt: T0 + 20 * SECOND }).windowMs).toBe(250_000);
  });

  test("a first reset that no second one confirms is a guess: the window may turn out to be shorter", () => {
    const far = first({ resetsAt: T0 + 300 * SECOND });
    expect([far.windowMs, far.atLeastMs]).toEqual([300_000, 0]);
    // 40 requests in two minutes, of which the service counts 20: its window is a minute, as its resets say from now on.
    const now = T0 + 120 * SECOND;
    const slow = { limit: 100, windowMs: 300_000 };
    const found = next(sent(far, 40), { now, sentAt: now, remaining: 80, resetsAt: now + 50 * SECOND }, slow);
    expect([found.windowMs, found.atLeastMs]).toEqual([60_000, 50_000]);
    // A second response that names the same moment confirms the first distance.
    expect(next(far, { now: T0 + 9 * SECOND, resetsAt: T0 + 300 * SECOND }).atLeastMs).toBe(300_000);
  });

  test("an announced window does not grow by resets", () => {
    const announced = { windowMs: 10 * SECOND, resetsAt: T0 + 300 * SECOND };
    expect([first(announced).windowMs, next(first(announced), announced).windowMs]).toEqual([10_000, 10_000]);
  });
});

describe("a stretch, a little longer than the window", () => {
  test("requests that were forgotten show that the window is shorter than the guess", () => {
    // 40 requests in 20 seconds, of which the service counts 20: its window is 10 seconds.
    const counted = { now: T0 + 20 * SECOND, sentAt: T0 + 20 * SECOND, remaining: 80 };
    const near = { resetsAt: T0 + 5 * SECOND };
    const found = next(sent(next(first(near), near), 40), counted);
    expect(found).toMatchObject({ found: true, windowMs: 10_000, sent: 0, mostUsed: 20, since: counted.now });
    // Without a reset that limits it from below, one stretch changes the estimate by a factor of four at most.
    expect(next(sent(first(), 40), counted).windowMs).toBe(15_000);
    // 33 requests of which 20 count are not enough to prove that any was forgotten.
    expect(next(sent(first(), 33), counted)).toMatchObject({ windowMs: 60_000, sent: 33 });
  });

  test("an estimate near the present value changes nothing", () => {
    const watch = sent(first(), 100);
    const full = next(watch, { now: T0 + 75 * SECOND, sentAt: T0 + 75 * SECOND, remaining: 20 });
    expect([full.windowMs, full.sent, full.since]).toEqual([60_000, 0, T0 + 75 * SECOND]);
  });

  test("a stretch with pauses, or with few requests, shows nothing", () => {
    const late = { now: T0 + 75 * SECOND, sentAt: T0 + 75 * SECOND, remaining: 98 };
    expect(next(sent(first(), 20), late)).toMatchObject({ windowMs: 60_000, sent: 0 });
    expect(next(sent(first(), 7), { ...late, remaining: 94 })).toMatchObject({ windowMs: 60_000, sent: 7, since: T0 });
  });

  test("delays count less while much of the limit stays unused, and in full again when little does", () => {
    const announced = { windowMs: 60_000 } as const;
    const over = { now: T0 + 75 * SECOND, sentAt: T0 + 75 * SECOND };
    const unused = next(sent(first(announced), 100), { ...announced, ...over, remaining: 20 });
    expect([unused.lateShare, unused.windowMs]).toEqual([0.75, 60_000]);
    const least = watchUsage(sent(first(announced), 100), aReading({ ...announced, ...over, remaining: 20 }), PACE, 1);
    expect(least.lateShare).toBe(1);
    const tight = next({ ...sent(unused, 100), since: T0 }, { ...announced, ...over, remaining: 1 });
    expect(tight.lateShare).toBe(1);
  });
});

describe("a refusal", () => {
  test("an announced window stays, an estimated one was too short for good", () => {
    const announced = { ...first({ windowMs: 60_000 }), lateShare: 0.5 };
    expect(refusedUsage(announced, T0, () => announced.sent)).toEqual({ ...announced, lateShare: 1 });
    const estimated = sent(first(), 100);
    const after = refusedUsage(estimated, T0 + 60 * SECOND, () => estimated.sent);
    expect(after?.windowMs).toBeCloseTo(66_000);
    expect(after?.refusedMs).toBe(after?.windowMs);
    expect(refusedUsage({ ...estimated, windowMs: 3_600_000 }, T0, () => estimated.sent)?.windowMs).toBe(3_600_000);
  });

  test("after two windows with hardly a request something else was refused, such as credits that are gone", () => {
    expect(refusedUsage(sent(first(), 5), T0 + 120 * SECOND, () => 5)).toMatchObject({
      windowMs: 60_000,
      refusedMs: 0,
    });
  });

  test("a window a little longer must explain it: of fewer requests than that allows, something else was refused", () => {
    const estimated = sent(first(), 100);
    const counting = (requests: number) => refusedUsage(estimated, T0 + 60 * SECOND, () => requests);
    expect(counting(49)).toEqual({ ...estimated, lateShare: 1 });
    expect(counting(50)?.windowMs).toBeCloseTo(66_000);
  });

  test("within the window the first of several counts", () => {
    const busy = () => 100;
    const once = refusedUsage(sent(first(), 100), T0, busy);
    expect(refusedUsage(once, T0 + 65 * SECOND, busy)?.windowMs).toBeCloseTo(66_000);
    expect(refusedUsage(once, T0 + 67 * SECOND, busy)?.windowMs).toBeCloseTo(72_600);
  });

  test("a first guess is too long rather than too short", () => {
    const unknown = first({ resetsAt: T0 + 5 * SECOND });
    expect(refusedUsage(unknown, T0, () => unknown.sent)).toMatchObject({ windowMs: 60_000, found: false });
    expect([refusedUsage(null, T0, () => 0), sentOne(null)]).toEqual([null, null]);
    expect(sentOne(unknown)?.sent).toBe(1);
  });
});
