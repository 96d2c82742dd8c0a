import { expect, test } from "vitest";
import { parseSchedules } from "../../../../../src/core/config/schedules/schedules.ts";

const _anyStream = () => null;
const onlySignals = (name: string) => (name === "signals" ? null : `there is no stream ${name}`);

const _plain = { timeZone: "UTC", jitterMs: 0, streams: [], full: false };

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
