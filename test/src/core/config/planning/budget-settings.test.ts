// The setting `budgets`, from the file and from the environment.
import { describe, expect, test } from "vitest";
import { configOf } from "../../../../support/given-config.ts";

const given = ({ yaml, env }: { yaml?: string; env?: Record<string, string> }) => configOf(yaml ?? null, env).budgets;

const HOUR_MS = 3_600_000;

test("streams and kinds of work, in credits, shares and durations, from file and environment alike", () => {
  const yaml = `budgets:
  account_insights: {per_day: 50, min_interval: 7d}
  walks: {per_period: 12.5%}
  verify: {per_day: 0}
`;
  const text =
    "account_insights.per_day=50, account_insights.min_interval=7d, walks.per_period=12.5%, verify.per_day=0";
  const expected = {
    account_insights: { perDay: { credits: 50 }, perPeriod: null, minIntervalMs: 168 * HOUR_MS },
    walks: { perDay: null, perPeriod: { share: 0.125 }, minIntervalMs: 0 },
    verify: { perDay: { credits: 0 }, perPeriod: null, minIntervalMs: 0 },
  };
  expect(given({ yaml })).toEqual(expected);
  expect(given({ env: { DUCKMIRROR_BUDGETS: text } })).toEqual(expected);
  expect(given({})).toEqual({});
});

describe("refused with the name", () => {
  test.each([
    ["budgets: {signal: {per_day: 5}}", '"signal" is neither a stream nor one of looks, walks, content, verify'],
    ["budgets: {signal: {per_day: 5}}", "Did you mean signals?"],
    ["budgets: {owners: {per_day: 5}}", '"owners" is neither a stream'],
    ["budgets: {signals: {per_dya: 5}}", "signals.per_dya is not one of per_day, per_period, min_interval"],
    ["budgets: {signals: {per_day: much}}", 'signals.per_day: "much" is neither a number of credits nor a share'],
    ["budgets: {signals: {per_day: -5}}", "signals.per_day"],
    ["budgets: {signals: {per_day: 120%}}", "signals.per_day"],
    ["budgets: {signals: {min_interval: often}}", "signals.min_interval"],
    ["budgets: {verify: {min_interval: 1d}}", "verify has no min_interval"],
    ["budgets: {signals: 5}", "budgets ("],
    ["budgets: [signals]", "budgets ("],
  ])("%s", (yaml, message) => {
    expect(() => given({ yaml })).toThrow(message);
  });

  test("in the environment", () => {
    expect(() => given({ env: { DUCKMIRROR_BUDGETS: "signals=5" } })).toThrow("signals. is not one of per_day");
  });
});
