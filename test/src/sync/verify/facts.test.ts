// Pages that a list has in the mirror, by which the cost of walking it is estimated.
import { expect, test } from "vitest";
import type { VerifyFacts } from "../../../../src/sync/verify/checks.ts";
import { pagesIn } from "../../../../src/sync/verify/make-checks.ts";

const facts: VerifyFacts = {
  lists: [
    { stream: "signals", scope: "", rows: 101 },
    { stream: "filings", scope: "c_1", rows: 0 },
  ],
  pageSize: (stream) => (stream === "signals" ? 50 : 10),
  contacts: [],
  signals: [],
  companies: [],
  insights: [],
};

test("by rows and page size; a list that is not known, and a record, take one request", () => {
  expect(pagesIn(facts, "signals", "")).toBe(3);
  expect(pagesIn(facts, "filings", "c_2")).toBe(1);
  expect(pagesIn(facts, "companies", "c_1")).toBe(1);
});

test("an empty list takes one request, too", () => {
  expect(pagesIn(facts, "filings", "c_1")).toBe(1);
});
