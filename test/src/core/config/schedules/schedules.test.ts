import { expect, test } from "vitest";
import { parseSchedules } from "../../../../../src/core/config/schedules/schedules.ts";

const anyStream = () => null;
const onlySignals = (name: string) => (name === "signals" ? null : `there is no stream ${name}`);

const plain = { timeZone: "UTC", jitterMs: 0, streams: [], full: false };

test("one expression, a list of them, and a list of maps are schedules", () => {
  expect(parseSchedules(" 0 3 * * * ", anyStream)).toEqual([{ ...plain, cron: "0 3 * * *" }]);
  expect(parseSchedules(["0 3 * * *", "30 0 12 * * MON-FRI"], anyStream)).toEqual([
    { ...plain, cron: "0 3 * * *" },
    { ...plain, cron: "30 0 12 * * MON-FRI" },
  ]);
  const entry = { cron: "*/15 * * * *", streams: "signals, ", full: "Yes", time_zone: "Europe/Berlin", jitter: "30s" };
  expect(parseSchedules([entry], onlySignals)).toEqual([
    { cron: "*/15 * * * *", timeZone: "Europe/Berlin", jitterMs: 30_000, streams: ["signals"], full: true },
  ]);
  expect(parseSchedules([{ cron: "0 3 * * *", streams: ["signals"], full: true }], onlySignals)).toMatchObject([
    { streams: ["signals"], full: true },
  ]);
});

test.each(["off", " None "])("%j is no schedule at all", (value) => {
  expect(parseSchedules(value, anyStream)).toEqual([]);
});

test.each([
  ["too few fields", "0 3 * *", /is not a cron expression/],
  ["too many fields", "0 0 0 3 * * *", /is not a cron expression/],
  ["a field of other characters", "0 3 * * MON;rm", /is not a cron expression/],
  ["a day that no month has", "0 3 30 2 *", /matches no time/],
  ["a sign of another cron", "0 3 L * *", /not a cron expression: .* not part of crontab/],
  [
    "a zone that does not exist",
    { cron: "0 3 * * *", time_zone: "Europe/Berlim" },
    /"Europe\/Berlim" is not a time zone/,
  ],
  ["a jitter without a unit that is known", { cron: "0 3 * * *", jitter: "30 parsecs" }, /is not a duration like 30s/],
  ["a stream that does not exist", { cron: "0 3 * * *", streams: ["signals", "signal"] }, /no stream signal$/],
  ["neither yes nor no", { cron: "0 3 * * *", full: "perhaps" }, /^full: "perhaps" is neither yes nor no/],
  ["a member that is unknown", { cron: "0 3 * * *", every: "1h" }, /every/],
  ["no expression", { full: true }, /^cron /],
  ["no schedule", null, /./],
])("%s is refused, and the problem is named", (_, value, problem) => {
  expect(parseSchedules(["0 3 * * *", value], onlySignals)).toMatch(problem);
});
