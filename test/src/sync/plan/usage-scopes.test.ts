// Which readings of the organization's usage are configured.
import { expect, test } from "vitest";
import { breakdownOf, usageScopes } from "../../../../src/sync/plan/usage-scopes.ts";

test("quota, contracted limits and request history are read by default, the quota by endpoint", () => {
  expect(usageScopes({})).toEqual(["usage", "limits", "requests"]);
  expect(breakdownOf("usage", {})).toBe("endpoint");
});

test("each further breakdown is a reading of its own; no days of history are none of it", () => {
  const usage = { historyDays: 0, breakdowns: ["day", "endpoint", "apiKey"] };
  expect(usageScopes({ usage })).toEqual(["usage", "usage:endpoint", "usage:apiKey", "limits"]);
  expect(["usage", "usage:endpoint", "usage:apiKey"].map((scope) => breakdownOf(scope, { usage }))).toEqual([
    "day",
    "endpoint",
    "apiKey",
  ]);
});

test("without breakdowns the quota is read alone", () => {
  const usage = { historyDays: 1, breakdowns: [] };
  expect(usageScopes({ usage })).toEqual(["usage", "limits", "requests"]);
  expect(breakdownOf("usage", { usage })).toBeUndefined();
});
