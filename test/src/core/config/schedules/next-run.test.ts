// The meaning of a schedule around changes of the clocks, and what is refused (next-run.long.test.ts: four years in four zones). Shows P39.
import { expect, test } from "vitest";
import { CronProblem, nextRun, parseCron } from "../../../../../src/core/config/schedules/cron.ts";
import { parseSchedules } from "../../../../../src/core/config/schedules/schedules.ts";

test.each([
  ["0 5 13 * 5", ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]],
  ["0 5 */7 * 5", ["2026-05-01", "2026-05-08", "2026-05-15", "2026-05-22"]],
  ["0 5 29 2 *", ["2028-02-29", "2032-02-29"]],
])("%s: a day of month or a weekday if both are restricted, both if one begins with a star", (text, days) => {
  let at = Date.parse("2026-01-01T00:00:00Z");
  for (const day of days) {
    at = nextRun(parseCron(text), "UTC", at) ?? 0;
    expect(new Date(at).toISOString()).toBe(`${day}T05:00:00.000Z`);
  }
});

test("a range that passes the end of its field goes on at its beginning; Sunday is 0 and 7", () => {
  expect(parseCron("0 22-2 * * *").hours).toEqual([0, 1, 2, 22, 23]);
  expect([...parseCron("0 0 * * 5-7").weekdays].sort()).toEqual([0, 5, 6]);
  expect([...parseCron("0 0 * * sat-mon").weekdays].sort()).toEqual([0, 1, 6]);
  expect([...parseCron("0 0 * * 0-7").weekdays].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

const berlin = (text: string, after: string) => {
  const at = nextRun(parseCron(text), "Europe/Berlin", Date.parse(after));
  return at === null ? null : new Date(at).toISOString();
};

test("a time that the spring skips runs once, when the clocks have changed", () => {
  expect(berlin("30 2 * * *", "2026-03-28T12:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
  expect(berlin("30 2 * * *", "2026-03-29T01:00:00Z")).toBe("2026-03-30T00:30:00.000Z");
});

test("a time that the autumn repeats runs once; every quarter of an hour stays every quarter of an hour", () => {
  expect(berlin("30 2 * * *", "2026-10-24T12:00:00Z")).toBe("2026-10-25T00:30:00.000Z");
  expect(berlin("30 2 * * *", "2026-10-25T00:30:00Z")).toBe("2026-10-26T01:30:00.000Z");
  expect(berlin("*/15 * * * *", "2026-10-25T00:45:00Z")).toBe("2026-10-25T01:00:00.000Z");
});

test("seconds are read from an expression of six fields; the next run is always later", () => {
  expect(berlin("*/20 * * * * *", "2026-01-01T00:00:00.001Z")).toBe("2026-01-01T00:00:20.000Z");
  expect(berlin("*/20 * * * * *", "2026-01-01T00:00:20Z")).toBe("2026-01-01T00:00:40.000Z");
  expect(berlin("0 0 30 2 *", "2026-01-01T00:00:00Z")).toBeNull();
});

test.each([
  ["0 5 L * *", /L, W and # are not part of crontab/],
  ["0 5 15W * *", /L, W and #/],
  ["0 5 LW * *", /L, W and #/],
  ["0 5 * * 1#1", /L, W and #/],
  ["0 5 * * fri#2", /L, W and #/],
  ["5/15 * * * *", /a step needs a range, like 5-59\/15/],
  ["60 * * * *", /"60" is no minute from 0 to 59/],
  ["* 24 * * *", /hour from 0 to 23/],
  ["* * 0 * *", /day of month/],
  ["* * * 13 *", /month/],
  ["* * * * 8", /weekday/],
  ["*/0 * * * *", /step/],
  ["1--2 * * * *", /is no minute/],
  ["1/2/3 * * * *", /is no minute/],
  [", * * * *", /is no minute/],
  ["* * * *", /4 fields/],
])("%s is refused in words", (text, problem) => {
  expect(() => parseCron(text)).toThrow(CronProblem);
  expect(() => parseCron(text)).toThrow(problem);
});

const onlySignals = (name: string) => (name === "signals" ? null : `there is no stream ${name}`);

test.each([
  ["an expression that is none", "0 3 * * MON;rm", /is not a cron expression/],
  ["a day that no month has", "0 3 30 2 *", /matches no time/],
  ["a zone that does not exist", { cron: "0 3 * * *", time_zone: "Europe/Berlim" }, /Berlim" is not a time zone/],
  ["a jitter without a unit that is known", { cron: "0 3 * * *", jitter: "30 parsecs" }, /is not a duration like 30s/],
  ["a stream that does not exist", { cron: "0 3 * * *", streams: ["signals", "signal"] }, /no stream signal$/],
  ["neither yes nor no", { cron: "0 3 * * *", full: "perhaps" }, /^full: "perhaps" is neither yes nor no/],
  ["a member that is unknown", { cron: "0 3 * * *", every: "1h" }, /every/],
  ["no expression", { full: true }, /^cron /],
  ["no schedule", null, /./],
])("of a schedule %s is refused, and the problem is named", (_, value, problem) => {
  expect(parseSchedules(["0 3 * * *", value], onlySignals)).toMatch(problem);
});
