// A forecast beside what its run spent: the error, and where the two do not compare.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import type { Forecast } from "../../../../../src/sync/plan/forecast/forecast.ts";
import { errorPercent, forecastErrorJson } from "../../../../../src/sync/plan/forecast/forecast.ts";

const forecast = (more: Partial<Forecast> = {}): Forecast => ({
  streams: [],
  requests: 110,
  atLeast: false,
  most: 110,
  unknown: [],
  days: new Map(),
  ...more,
});
const ended = (status: "done" | "stopped" | "partial", spent = 100) => ({
  status,
  credits: { spent, ambiguous: 0, remaining: null, limit: null, resets_at: null },
});
const percentOf = (...of: Parameters<typeof forecastErrorJson>) => forecastErrorJson(...of).error_percent;

test.each([
  [110, 100, 10],
  [90, 100, -10],
  [1, 3, -66.7],
  [2, 0, 200],
  [0, 0, 0],
])("a forecast of %i for %i spent is wrong by %d%%", (credits, spent, percent) => {
  expect(errorPercent(credits, spent)).toBe(percent);
});

test("a run that did all of its work, or ended for lack of credits, is compared", () => {
  expect(forecastErrorJson(forecast(), null, ended("done"), null)).toEqual({
    credits: 110,
    at_least: false,
    spent: 100,
    error_percent: 10,
  });
  for (const code of ["BUDGET_SPENT", "QUOTA_SPENT"] as const)
    expect(percentOf(forecast(), null, ended("stopped"), new DuckmirrorError(code))).toBe(10);
});

test("one that something else ended is not, nor one of unknown length", () => {
  expect(percentOf(forecast(), null, ended("stopped"), new DuckmirrorError("DURATION_SPENT"))).toBeNull();
  expect(percentOf(forecast(), null, ended("partial"), new DuckmirrorError("STREAMS_FAILED"))).toBeNull();
  expect(percentOf(forecast({ atLeast: true }), null, ended("done"), null)).toBeNull();
  expect(percentOf(forecast({ most: 111 }), null, ended("done"), null)).toBeNull();
});

test("a run is expected to spend no more than its allowance", () => {
  expect(forecastErrorJson(forecast(), 50, ended("done", 50), null)).toMatchObject({ credits: 50, error_percent: 0 });
});
