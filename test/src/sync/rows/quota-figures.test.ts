// A quota without a limit is no quota that is used up.
import { expect, test } from "vitest";
import { quotaFigures } from "../../../../src/sync/rows/quota-figures.ts";

test("a negative limit leaves both columns empty, and the quota as received beside them", () => {
  const quota = { limit: -1, used: 5, remaining: -1 };
  expect(quotaFigures(quota)).toEqual({ used: 5, limit: null, remaining: null, quota });
});

test("any other quota stays as it is", () => {
  for (const quota of [{ limit: 0, used: 5, remaining: -5 }, { limit: null }, { used: 1 }])
    expect(quotaFigures(quota)).toBe(quota);
});
