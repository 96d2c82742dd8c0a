// Credits that do not suffice until the reset: the most valuable streams stay fresh, the others say how old they get.
import { expect, test } from "vitest";
import { agingOf } from "../../../../../src/sync/plan/forecast/even-pace.ts";

const needs = new Map([
  ["filings", { credits: 100, ageDays: 30 }],
  ["accounts", { credits: 100, ageDays: 1 }],
] as const);

test.each([
  [200, []],
  [150, [{ stream: "filings", days: 60 }]],
  [100, [{ stream: "filings", days: null }]],
  [
    50,
    [
      { stream: "accounts", days: 2 },
      { stream: "filings", days: null },
    ],
  ],
  [
    0,
    [
      { stream: "accounts", days: null },
      { stream: "filings", days: null },
    ],
  ],
  [
    -5,
    [
      { stream: "accounts", days: null },
      { stream: "filings", days: null },
    ],
  ],
])("with %s of 200 credits", (credits, aging) => {
  expect(agingOf(needs, credits)).toEqual(aging);
});

test("a stream that needs nothing does not age", () => {
  expect(agingOf(new Map([["accounts", { credits: 0, ageDays: 1 }]] as const), 0)).toEqual([]);
});
