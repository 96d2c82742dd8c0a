// Requests in flight of several processes, and a limiter whose clock goes back.
import { describe, expect, test } from "vitest";
import { nextSlot, observeRate, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { type LimiterState, startLimiter } from "../../../../src/budget/rate/limiter-state.ts";
import { countFlight, FLIGHT_MS, inFlight, onEarlierClock } from "../../../../src/budget/rate/windows.ts";
import { said } from "../../../support/rate-info.ts";

const T0 = Date.UTC(2026, 0, 5, 10);

describe("requests in flight", () => {
  const two = countFlight(countFlight([], "a", 1, T0), "a", 1, T0);
  const three = countFlight(two, "b", 1, T0 + 1_000);

  test("are those of all processes: granted and not answered", () => {
    expect(inFlight(three, T0 + 1_000).all).toBe(3);
    expect(inFlight(countFlight(three, "a", -1, T0 + 2_000), T0 + 2_000).all).toBe(2);
    expect(countFlight(three, "b", -1, T0 + 2_000)).toEqual([{ by: "a", count: 2, at: T0 }]);
    expect(countFlight(three, "a", 1, T0, true)).toContainEqual({ by: "a", count: 1, at: T0 });
    expect(inFlight(countFlight([], "a", -1, T0), T0).all).toBe(0);
  });

  test("are forgotten of one that has said nothing for two minutes, and not before", () => {
    expect(inFlight(two, T0 + FLIGHT_MS - 1).all).toBe(2);
    expect(inFlight(two, T0 + FLIGHT_MS).all).toBe(0);
    expect(countFlight(two, "b", 1, T0 + FLIGHT_MS)).toEqual([{ by: "b", count: 1, at: T0 + FLIGHT_MS }]);
  });

  test("hold the others for twenty seconds only: their process may have died, and its requests count on", () => {
    const limiter = takeSlot(startLimiter(null), 0, T0).state;
    const flights = countFlight([], "a", 1, T0);
    const next = (of: LimiterState, now: number) => {
      const { all, awaited } = inFlight(flights, now);
      return nextSlot(of, all, now, "burst", awaited);
    };
    expect(next(limiter, T0 + 19_999)).toBe(Infinity);
    expect(next(limiter, T0 + 20_000)).toBeLessThanOrEqual(T0 + 20_000);
    // No two requests in flight were answered yet.
    const heard = observeRate(limiter, said({ limit: 60, remaining: 59, resetsAt: T0 + 60_000 }), 0, T0);
    expect(next(heard, T0 + 19_999)).toBe(Infinity);
    expect(next(heard, T0 + 20_000)).toBeLessThanOrEqual(T0 + 20_000);
    const one = { ...heard, learned: { burst: null, window: null, inFlight: 1, isNamed: true, at: T0 } };
    expect(next(one, T0 + FLIGHT_MS - 1)).toBe(Infinity);
    expect(next(one, T0 + FLIGHT_MS)).toBeLessThanOrEqual(T0 + FLIGHT_MS);
  });
});

describe("a clock that goes back by an hour", () => {
  const hour = 3_600_000;
  const granted = takeSlot(startLimiter(1), 0, T0).state;
  const heard = observeRate(granted, said({ limit: 60, remaining: 1, resetsAt: T0 + 20_000 }), 1, T0);
  const limiter = { ...heard, blockedUntil: T0 + 7_000 };
  const state = { limiter, flights: [{ by: "a", count: 1, at: T0 }] };
  const earlier = onEarlierClock(state, T0 - hour);

  test("delays no request by that hour, and lets none go sooner than without it", () => {
    const moves = (at: LimiterState) => nextSlot(at, 0, T0 - hour);
    expect(moves(earlier.limiter)).toBe(nextSlot(limiter, 0, T0) - hour);
    const free = { ...earlier.limiter, counts: [] };
    expect(moves(free)).toBe(T0 + 7_000 - hour);
    expect(earlier.flights).toEqual([{ by: "a", count: 1, at: T0 - hour }]);
  });

  test("forward, or not at all, nothing changes", () => {
    expect(onEarlierClock(state, T0)).toBe(state);
    expect(onEarlierClock(state, T0 + hour)).toBe(state);
  });
});
