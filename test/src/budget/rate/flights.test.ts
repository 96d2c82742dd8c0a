// Requests in flight of several processes, and a limiter whose clock goes back.
import { describe, expect, test } from "vitest";
import {
  FLIGHT_MS,
  flightsOfOthers,
  noteFlights,
  onEarlierClock,
  startAfterLoss,
} from "../../../../src/budget/rate/flights.ts";
import { backOff, nextSlot, observeRate, takeSlot } from "../../../../src/budget/rate/limiter.ts";
import { said } from "../../../support/rate-info.ts";

const T0 = Date.UTC(2026, 0, 5, 10);

describe("in flight at other processes", () => {
  const noted = noteFlights(noteFlights([], "a", 3, T0), "b", 2, T0 + 1_000);

  test("is the sum of what they noted last", () => {
    expect(flightsOfOthers(noted, "a", T0 + 1_000)).toBe(2);
    expect(flightsOfOthers(noted, "c", T0 + 1_000)).toBe(5);
    expect(flightsOfOthers(noteFlights(noted, "b", 7, T0 + 2_000), "a", T0 + 2_000)).toBe(7);
    expect(noteFlights(noted, "b", 0, T0 + 2_000)).toEqual([{ by: "a", count: 3, at: T0 }]);
  });

  test("is forgotten of one that has said nothing for two minutes, and not before", () => {
    expect(flightsOfOthers(noted, "b", T0 + FLIGHT_MS - 1)).toBe(3);
    expect(flightsOfOthers(noted, "b", T0 + FLIGHT_MS)).toBe(0);
    expect(noteFlights(noted, "b", 1, T0 + FLIGHT_MS - 1)).toHaveLength(2);
    expect(noteFlights(noted, "b", 1, T0 + FLIGHT_MS)).toEqual([{ by: "b", count: 1, at: T0 + FLIGHT_MS }]);
  });
});

test("a limiter that may have forgotten a request lets the first one wait for its turn", () => {
  const { limiter } = startAfterLoss(T0);
  expect(nextSlot({ ...limiter, configured: 60 })).toEqual({ at: T0 + 1_010, why: "pace" });
});

describe("a clock that goes back by an hour", () => {
  const hour = 3_600_000;
  const sent = takeSlot({ ...startAfterLoss(T0 - 60_000).limiter, configured: 60 }, T0);
  const heard = observeRate(sent, said({ limit: 60, remaining: 1, resetsAt: T0 + 20_000 }), 1, T0);
  const state = { limiter: backOff(heard, T0 + 7_000, T0), flights: [{ by: "a", count: 1, at: T0 }] };
  const earlier = onEarlierClock(state, T0 - hour);

  test("delays no request by that hour, and lets none go sooner than without it", () => {
    const late = T0 - state.limiter.slot;
    expect(nextSlot(earlier.limiter)).toEqual({ at: nextSlot(state.limiter).at - hour + late, why: "remaining" });
    expect(nextSlot({ ...earlier.limiter, spare: null })).toEqual({ at: T0 + 7_000 - hour + late, why: "refused" });
    const paced = { ...earlier.limiter, spare: null, blockedUntil: -Infinity };
    expect(nextSlot(paced)).toEqual({ at: T0 - hour + 1_010, why: "pace" });
    expect(earlier.flights).toEqual([{ by: "a", count: 1, at: T0 - hour + late }]);
    expect(earlier.limiter.sent).toEqual([{ from: T0 - hour + late, count: 1 }]);
  });

  test("forward, or not at all, nothing changes", () => {
    expect(onEarlierClock(state, T0)).toBe(state);
    expect(onEarlierClock(state, T0 + hour)).toBe(state);
  });
});
