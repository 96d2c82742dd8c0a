// Which rows a walk leaves unconfirmed, and what a failure of its run means for a stream.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../../src/catalog/streams.ts";
import { completenessOf, missingParents, unconfirmedIn } from "../../../../../src/sync/run/state/completeness.ts";

describe("rows that a walk leaves unconfirmed", () => {
  test.each([
    [{ rows: 10, unmet: 0, counted: 10 }, null, ""],
    [{ rows: 10, unmet: 0, counted: null }, null, ""],
    [{ rows: 10, unmet: 2, counted: null }, 2, "the mirror holds 10 rows; the last walk did not meet 2 of them"],
    [{ rows: 10, unmet: 0, counted: 12 }, 2, "the mirror holds 10 rows, the service counts 12"],
    // More records that are no rows than the service counts.
    [{ rows: 3, unmet: 0, counted: -3 }, 6, "the mirror holds 3 rows, the service counts 0"],
    [{ rows: 10, unmet: 0, counted: 9 }, 1, "the mirror holds 10 rows, the service counts 9"],
    // Rows that were not met are the ones beyond the count.
    [
      { rows: 10, unmet: 3, counted: 9 },
      3,
      "the mirror holds 10 rows, the service counts 9; the last walk did not meet 3 of them",
    ],
    // Some are gone, and others are missing.
    [
      { rows: 10, unmet: 1, counted: 12 },
      3,
      "the mirror holds 10 rows, the service counts 12; the last walk did not meet 1 of them",
    ],
  ])("%j: %s", (list, rows, because) => {
    expect(unconfirmedIn(list)).toEqual(rows === null ? null : { rows, because });
  });
});

test("a stream whose lists are proven is not complete if the run failed in it", () => {
  const proven = new Map([["accounts", { complete: true, unconfirmed: 0, scopes: 1 }]]);
  const verdict = completenessOf(proven, "accounts", { failed: "X: y", left: false });
  expect(verdict).toMatchObject({ complete: false, reason: "X: y" });
});

test("a stream below companies misses none if it has read something, now or before", () => {
  const missing = (requests: number, scopes: number) => {
    const proven = new Map([["filings", { complete: false, unconfirmed: 0, scopes }]]);
    return missingParents(streamSpec("filings"), { proven, requests })?.code;
  };
  expect([missing(0, 0), missing(1, 0), missing(0, 1)]).toEqual(["PARENTS_MISSING", undefined, undefined]);
});
