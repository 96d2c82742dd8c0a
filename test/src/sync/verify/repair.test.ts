// What it costs to repair what a verification found: one walk of each list that differs.
import { expect, test } from "vitest";
import { walkCredits } from "../../../../src/sync/verify/repair.ts";
import type { Difference } from "../../../../src/sync/verify/report.ts";

const aDifference = (more: Partial<Difference>): Difference => ({
  stream: "signals",
  scope: "",
  kind: "count",
  key: null,
  field: null,
  mirror: "1",
  api: "2",
  verdict: "wrong",
  repaired: false,
  ...more,
});
const pages = {
  lists: [
    { stream: "signals", scope: "", rows: 99 },
    { stream: "filings", scope: "c_1", rows: 0 },
  ],
  pageSize: () => 10,
} as const;

test("each differing list is walked once, by pages that share rows; an empty or unknown one has a page, too", () => {
  expect(walkCredits([], pages)).toBe(0);
  expect(walkCredits([aDifference({})], pages)).toBe(16);
  expect(walkCredits([aDifference({}), aDifference({ kind: "vanished", key: "1" })], pages)).toBe(16);
  const companies = ["c_1", "c_2"].map((scope) => aDifference({ stream: "filings", scope }));
  expect(walkCredits(companies, pages)).toBe(8);
});

test("nothing is walked for a single value, a missing row, what is repaired, or what is no list", () => {
  const others = [{ kind: "field" }, { kind: "missing" }, { repaired: true }, { stream: "companies" }] as const;
  expect(others.map((other) => walkCredits([aDifference(other)], pages))).toEqual([0, 0, 0, 0]);
});
