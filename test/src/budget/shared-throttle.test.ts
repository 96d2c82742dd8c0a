// One process, and several under one limiter whose store is some way off, on a clock that tests move.
import { expect, test } from "vitest";
import { createManualClock } from "../../../bench/rates/manual-clock.ts";
import { fixedWindow, type Limiting, slidingWindow } from "../../../bench/rates/services.ts";
import { createThrottle } from "../../../src/budget/rate/throttle.ts";
import { type SharedLimiter, startShared } from "../../../src/budget/rate/windows.ts";
import type { StateStore } from "../../../src/budget/store/state-store.ts";
import { createMemoryState } from "../../../src/budget/store/state-store.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { said } from "../../support/rate-info.ts";

/** The store, `wayMs` away in each direction. */
const distant = (store: StateStore<SharedLimiter>, clock: Clock, wayMs: () => number): StateStore<SharedLimiter> => ({
  shared: true,
  update: async (step, options) => {
    await clock.sleep(wayMs());
    const result = await store.update(step, options);
    await clock.sleep(wayMs());
    return result;
  },
});

const EIGHT = [0, 3_600_000, -86_400_000, 900, -250, 60_000, 0, 1];
const WINDOWS = {
  fixed: (limit: number) => fixedWindow({ limit, windowMs: 60_000 }, 0),
  sliding: (limit: number) => slidingWindow({ limit, windowMs: 60_000 }, "all"),
} satisfies Record<string, (limit: number) => Limiting>;

interface Plan {
  readonly limit: number;
  readonly window: keyof typeof WINDOWS;
  readonly configured?: number;
  /** One way to the store in ms; `random` is in [0, 1). */
  readonly wayMs?: (random: () => number) => number;
  /** Each process's clock, off by this much. */
  readonly skewsMs?: readonly number[];
}

/** What the processes got in four minutes, of the five windows that begin in them. */
const run = async ({ limit, window, configured, wayMs = (random) => random(), skewsMs = EIGHT }: Plan) => {
  let seed = 42;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const clock = createManualClock(1_000_000, () => Math.floor(random() * 4));
  const service = WINDOWS[window](limit);
  const memory = createMemoryState(clock, startShared());
  let [answered, refusals] = [0, 0];
  for (const skewMs of skewsMs) {
    const own: Clock = { now: () => clock.now() + skewMs, sleep: clock.sleep };
    const store = distant(memory, clock, () => wayMs(random));
    const throttle = createThrottle({ clock: own, configured: configured ?? null, store });
    const worker = async () => {
      for (;;) {
        await throttle.acquire();
        const sentAt = own.now();
        await clock.sleep(20 + random() * 100);
        const { allowed, remaining, resetsAt } = service.take(clock.now());
        if (!allowed) refusals += 1;
        await clock.sleep(300 + random() * 300);
        answered += 1;
        // Clients turn what the service says into moments of their own clock.
        const heard = allowed ? said({ limit, remaining, resetsAt: resetsAt + skewMs }) : null;
        void throttle.observe(heard, { sentAt, answeredAt: own.now() });
      }
    };
    for (let n = 0; n < Math.max(4, limit / 60); n += 1) void worker();
  }
  // In the fifth window no more than the slowness of the first one is missing.
  await clock.advance(4 * 60_000 + 50_000);
  return { refusals, share: answered / (limit * 5) };
};

const SLOW = { limit: 300, window: "sliding", configured: 300 } as const;
const SOMETIMES_LATE = (random: () => number) => (random() < 0.1 ? 4_000 + random() * 8_000 : random());

test.each<Plan & { who: string; least: number }>([
  { who: "eight processes with wrong clocks", window: "fixed", limit: 120, least: 0.97 },
  { who: "eight processes with wrong clocks", window: "fixed", limit: 60, configured: 60, least: 0.97 },
  { who: "eight processes with wrong clocks", window: "sliding", limit: 120, least: 0.97 },
  { who: "eight processes with wrong clocks", window: "sliding", limit: 60, configured: 60, least: 0.97 },
  { who: "one process", window: "fixed", limit: 300, skewsMs: [0], least: 0.9 },
  { who: "one process", window: "sliding", limit: 300, skewsMs: [0], least: 0.9 },
  {
    who: "four processes with a slow store, each asking for one slot at a time",
    ...{ ...SLOW, skewsMs: EIGHT.slice(0, 4), wayMs: (random) => 100 + random() * 10, least: 0.9 },
  },
  {
    who: "eight processes with a store that now and then answers some of them seconds late",
    ...{ ...SLOW, limit: 60, configured: 60, wayMs: SOMETIMES_LATE, least: 0.5 },
  },
])(
  "$who, $window window of $limit, $configured configured: none is refused, $least used",
  async ({ least, ...plan }) => {
    const { refusals, share } = await run(plan);
    expect(refusals).toBe(0);
    expect(share).toBeGreaterThanOrEqual(least);
  },
);
