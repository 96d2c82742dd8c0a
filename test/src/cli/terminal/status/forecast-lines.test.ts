// How well the last syncs were foreseen, in `status`.
import { expect, test } from "vitest";
import { forecastLines, medianError } from "../../../../../src/cli/terminal/status/forecast-lines.ts";

const forecasts = (...errors: (number | null)[]): Parameters<typeof forecastLines>[0] =>
  errors.map((errorPercent, nth) => ({
    ...{ runId: `r${nth}`, startedAt: nth, credits: 10, spent: 10, atLeast: false },
    errorPercent,
  }));

test("the median has no sign, and leaves out syncs that compare with nothing", () => {
  expect(medianError(forecasts(4, -30, null, 2))).toBe(4);
  expect(medianError(forecasts(-30))).toBe(30);
  expect([medianError([]), medianError(forecasts(null))]).toEqual([null, null]);
});

test("nothing is said before the first comparison, one sync has its error, several their median", () => {
  expect(forecastLines(forecasts(null))).toEqual([]);
  expect(forecastLines(forecasts(4))).toEqual(["forecast of the last sync: off by +4%"]);
  expect(forecastLines(forecasts(0, null))).toEqual(["forecast of the last sync: off by 0%"]);
  expect(forecastLines(forecasts(4, -2, 10))).toEqual([
    "forecasts of the last 3 syncs: off by 4% in the median (+4%, -2%, +10%)",
  ]);
});
