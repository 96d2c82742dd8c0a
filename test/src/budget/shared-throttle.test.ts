// Several processes under one limiter whose store is some way off, on a clock that tests move.
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../bench/rates/manual-clock.ts";
import { createThrottle } from "../../../src/budget/rate/throttle.ts";
import { type SharedLimiter, startShared } from "../../../src/budget/rate/windows.ts";
import type { StateStore } from "../../../src/budget/store/state-store.ts";
import { createMemoryState } from "../../../src/budget/store/state-store.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { type CountingService, fixedWindow, slidingWindow } from "./counting-service.ts";

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

interface Plan {
  readonly limit: number;
  readonly make: (clock: Clock, limit: number) => CountingService;
  readonly configured: number | null;
  /** One way to the store in ms; `random` is in [0, 1). */
  readonly wayMs: (random: () => number) => number;
  /** Each process's clock, off by this much. */
  readonly skewsMs: readonly number[];
}

/** What the processes got in four minutes, of the five windows that begin in them. */
const run = async ({ limit, make, configured, wayMs, skewsMs }: Plan) => {
  let seed = 42;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const clock = createManualClock(1_000_000, () => Math.floor(random() * 4));
  const service = make(clock, limit);
  const store = createMemoryState(clock, startShared());
  let answered = 0;
  for (const skewMs of skewsMs) {
    const own: Clock = { now: () => clock.now() + skewMs, sleep: clock.sleep };
    const throttle = createThrottle({ clock: own, configured, store: distant(store, clock, () => wayMs(random)) });
    const worker = async () => {
      for (;;) {
        await throttle.acquire();
        const sentAt = own.now();
        await clock.sleep(20 + random() * 100);
        const rate = service.request();
        await clock.sleep(300 + random() * 300);
        answered += 1;
        const resetsAt = rate?.resetsAt ?? null;
        // Clients turn what the service says into moments of their own clock.
        const heard = rate === null ? null : { ...rate, resetsAt: resetsAt === null ? null : resetsAt + skewMs };
        void throttle.observe(heard, { sentAt, answeredAt: own.now() });
      }
    };
    for (let n = 0; n < Math.max(4, limit / 60); n += 1) void worker();
  }
  // In the fifth window no more than the slowness of the first one is missing.
  await clock.advance(4 * 60_000 + 50_000);
  return { refusals: service.refusals, share: answered / (limit * 5) };
};

const EIGHT = [0, 3_600_000, -86_400_000, 900, -250, 60_000, 0, 1];
const near = (random: () => number) => random();

describe("eight processes with wrong clocks", () => {
  const cases = [
    { window: "fixed", make: fixedWindow, limit: 300, configured: null },
    { window: "fixed", make: fixedWindow, limit: 60, configured: 60 },
    { window: "sliding", make: slidingWindow, limit: 300, configured: null },
    { window: "sliding", make: slidingWindow, limit: 60, configured: 60 },
  ];

  test.each(cases)("$window window, $limit a minute, $configured configured: 97% used, no refusal", async (plan) => {
    const { refusals, share } = await run({ ...plan, wayMs: near, skewsMs: EIGHT });
    expect(refusals).toBe(0);
    expect(share).toBeGreaterThanOrEqual(0.97);
  });
});

describe("a store that is slow", () => {
  const plan = { limit: 300, make: slidingWindow, configured: 300, skewsMs: EIGHT.slice(0, 4) };

  test("always as slow: four processes still use most of the rate, each asking for one slot at a time", async () => {
    const { refusals, share } = await run({ ...plan, wayMs: (random) => 100 + random() * 10 });
    expect(refusals).toBe(0);
    expect(share).toBeGreaterThanOrEqual(0.9);
  });

  test("now and then seconds late for some: the limit holds all the same", async () => {
    const wayMs = (random: () => number) => (random() < 0.1 ? 4_000 + random() * 8_000 : random());
    const { refusals, share } = await run({ ...plan, limit: 60, configured: 60, skewsMs: EIGHT, wayMs });
    expect(refusals).toBe(0);
    expect(share).toBeGreaterThanOrEqual(0.5);
  });
});
