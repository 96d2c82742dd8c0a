// Windows are counted request by request, each from its answer.
import { expect, test } from "vitest";
import { answeredSince, countsOf, earliestRoom } from "../../../../src/budget/rate/windows.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const MINUTE = 60_000;
const minute = { limit: 3, windowMs: MINUTE };
const counted = (...times: readonly number[]) =>
  times.reduce((counts, at) => countsOf(counts, [minute], at), countsOf([], [minute], null));

test("a window has room again when its oldest request has left, never before", () => {
  const counts = counted(T0 + 1, T0 + 2_000, T0 + 4_000);
  expect(earliestRoom(counts, minute, 0, 0)).toBe(T0 + 250 + MINUTE);
  expect(earliestRoom(counts, minute, 0, 40)).toBe(T0 + 210 + MINUTE);
  expect(earliestRoom(counted(T0, T0 + 1), minute, 0, 0)).toBe(-Infinity);
});

test("requests in flight count in every window; where they fill it, only an answer makes room", () => {
  expect(earliestRoom(counted(T0, T0 + 1), minute, 1, 0)).toBe(T0 + MINUTE);
  expect(earliestRoom(counted(), minute, 3, 0)).toBe(Infinity);
  expect(earliestRoom(counted(), minute, 2, 0)).toBe(-Infinity);
});

test("answers may come in any order, and those of two windows ago are forgotten", () => {
  const counts = counted(T0 + 2_000, T0, T0 + 1_000);
  expect(answeredSince(counts, MINUTE, T0 + 500)).toBe(2);
  expect(answeredSince(countsOf(counts, [minute], T0 + 3 * MINUTE), MINUTE, T0 - 1)).toBe(1);
});

test("a window of another length starts with the requests that are known", () => {
  const hour = { limit: 100, windowMs: 60 * MINUTE };
  const counts = countsOf(counted(T0, T0 + 1_000), [minute, hour], null);
  expect(answeredSince(counts, hour.windowMs, T0 - 1)).toBe(2);
  expect(counts).toHaveLength(2);
});
