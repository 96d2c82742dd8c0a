// Which rows a walk leaves unconfirmed, and what a run's report says of each stream.
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

const proven = new Map([["accounts", { complete: true, unconfirmed: 0, scopes: 1 }]]);

describe("a stream in a run's report", () => {
  test("is complete if its lists are proven and the run left nothing of it", () => {
    expect(completenessOf(proven, "accounts", { failed: null, left: false })).toEqual({
      complete: true,
      unconfirmed: 0,
    });
  });

  test("is not if the run failed in it or left some of its work", () => {
    expect(completenessOf(proven, "accounts", { failed: "X: y", left: true })).toMatchObject({
      complete: false,
      reason: "X: y",
    });
    expect(completenessOf(proven, "accounts", { failed: null, left: true })).toMatchObject({
      complete: false,
      reason: "the run ended before it was read",
    });
  });

  test("keeps the reason why its lists are not proven", () => {
    const unproven = { complete: false, unconfirmed: 4, reason: "a walk", scopes: 1 };
    const of = completenessOf(new Map([["accounts", unproven]]), "accounts", { failed: "X", left: true });
    expect(of).toEqual({ complete: false, unconfirmed: 4, reason: "a walk" });
    expect(completenessOf(new Map(), "accounts", { failed: null, left: false })).toMatchObject({
      complete: false,
      reason: "never read",
    });
  });
});

describe("a stream below accounts or companies that had nothing to read", () => {
  const missing = (stream: "filings" | "account_insights" | "signals", requests = 0, scopes = 0) => {
    const known = new Map([[stream, { complete: false, unconfirmed: 0, scopes }]]);
    return missingParents(streamSpec(stream), { proven: known, requests });
  };

  test("names what is missing above it", () => {
    expect(missing("filings")).toMatchObject({ code: "PARENTS_MISSING", context: { parents: "companies" } });
    expect(missing("account_insights")).toMatchObject({ context: { parents: "accounts" } });
  });

  test("is no fault if it has read something, now or before, or stands alone", () => {
    expect([missing("filings", 1), missing("filings", 0, 1), missing("signals")]).toEqual([null, null, null]);
  });
});
