// A limiter's state that another program wrote into the store: it holds no request back for longer than the service could.
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import type { LimiterState } from "../../../../src/budget/rate/limiter-state.ts";
import { createThrottle } from "../../../../src/budget/rate/throttle.ts";
import { sharedLimiterSchema, startShared } from "../../../../src/budget/rate/windows.ts";
import { createMemoryState } from "../../../../src/budget/store/state-store.ts";

const NOW = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const FUTURE = NOW + 1e12;
const LEARNED = { burst: null, window: null, inFlight: null, isNamed: false, at: NOW };

const FORGED: readonly (readonly [string, Record<string, unknown>])[] = [
  ["answers in the future", { counts: [{ windowMs: MINUTE_MS, answered: [{ from: FUTURE, count: 1_000_000 }] }] }],
  ["a limit of none", { announced: [{ limit: 0, windowMs: MINUTE_MS }] }],
  ["a limit below none", { announced: [{ limit: -5, windowMs: MINUTE_MS }] }],
  [
    "a window of a year",
    {
      announced: [{ limit: 1, windowMs: 365 * 24 * HOUR_MS }],
      counts: [{ windowMs: 365 * 24 * HOUR_MS, answered: [{ from: NOW, count: 9 }] }],
    },
  ],
  ["a wait for ever", { blockedUntil: FUTURE }],
  ["a reset that never comes", { left: { remaining: 0, resetsAt: FUTURE, at: NOW, isLess: true } }],
  ["none in flight", { learned: { ...LEARNED, inFlight: 0 } }],
  ["a learned window of a year", { learned: { ...LEARNED, window: { limit: 1, windowMs: 365 * 24 * HOUR_MS } } }],
  ["no speed", { assumed: 0 }],
  ["a full bucket", { emptyAt: FUTURE, learned: { ...LEARNED, burst: 1 } }],
  ["200,000 windows", { announced: Array.from({ length: 200_000 }, (_, n) => ({ limit: 1, windowMs: n + 1 })) }],
];

/** The state as a process reads it: what does not fit the schema starts anew. */
const read = (limiter: Record<string, unknown>, flights: unknown) => {
  const genuine: LimiterState = { ...startShared().limiter, grantedAt: NOW - 1000, heardUpTo: NOW - 900 };
  const stored: unknown = JSON.parse(JSON.stringify({ limiter: { ...genuine, ...limiter }, flights }));
  return sharedLimiterSchema.safeParse(stored).data ?? startShared();
};

const grantedAt = async (state: ReturnType<typeof read>): Promise<number> => {
  const clock = createManualClock(NOW, () => 0);
  let at = Number.POSITIVE_INFINITY;
  const throttle = createThrottle({ clock, configured: null, store: createMemoryState(clock, state) });
  void throttle.acquire().then(() => {
    at = clock.now();
  });
  await clock.advance(3 * HOUR_MS);
  return at - NOW;
};

test.each(FORGED)("%s", async (_name, limiter) => {
  expect(await grantedAt(read(limiter, []))).toBeLessThan(2 * HOUR_MS);
});

test("a process that has read a forged state, which then is gone from the store, goes on", async () => {
  const clock = createManualClock(NOW, () => 0);
  const store = createMemoryState(clock, read({ blockedUntil: FUTURE }, []));
  const throttle = createThrottle({ clock, configured: null, store: { ...store, shared: true } });
  let granted = false;
  void throttle.acquire().then(() => {
    granted = true;
  });
  await clock.advance(1);
  await store.update(() => ({ state: startShared(), result: null }));
  await clock.advance(MINUTE_MS);
  expect(granted).toBe(true);
});

test("requests in flight that a process reported in the future", async () => {
  expect(await grantedAt(read({}, [{ by: "evil", count: 1_000_000, at: FUTURE }]))).toBeLessThan(2 * HOUR_MS);
});

test("a state of its own is kept: a wait of an hour, and a full window", async () => {
  expect(await grantedAt(read({ blockedUntil: NOW + HOUR_MS }, []))).toBe(HOUR_MS);
  const full = [{ windowMs: MINUTE_MS, answered: [{ from: NOW, count: 10 }] }];
  expect(await grantedAt(read({ announced: [{ limit: 10, windowMs: MINUTE_MS }], counts: full }, []))).toBe(MINUTE_MS);
});
