// A quota without a limit is no quota that is used up.
import { expect, test } from "vitest";
import { quotaFigures } from "../../../../src/sync/rows/quota-figures.ts";

test("a negative limit leaves both columns empty, and the quota as received beside them", () => {
  const quota = { limit: -1, used: 5, remaining: -1 };
  expect(quotaFigures(quota)).toEqual({ used: 5, limit: null, remaining: null, quota });
});

test("any other quota stays as it is", () => {
  for (const quota of [
    { limit: 5, used: 5, remaining: 0 },
    { limit: 0, used: 5, remaining: 3 },
    { limit: null },
    { used: 1 },
  ])
    expect(quotaFigures(quota)).toBe(quota);
});

test("an answer that says 0 of 0, or less, is of an organization without a limit", () => {
  for (const remaining of [0, -5, null]) {
    const quota = { limit: 0, used: 5, remaining };
    expect(quotaFigures(quota)).toEqual({ used: 5, limit: null, remaining: null, quota });
  }
});
