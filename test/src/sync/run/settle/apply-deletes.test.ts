// When rows that a walk did not return may be deleted: not a whole list, not too large a share of it.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../../src/catalog/streams.ts";
import { guardDeletes } from "../../../../../src/sync/run/settle/apply-deletes.ts";

const guard = { maxShare: 0.2, allowMassDelete: false };
const verdict = (stream: "signals" | "news_articles", missing: number, rows: number, more = {}) =>
  guardDeletes(streamSpec(stream), { missing, rows }, { ...guard, ...more })?.code ?? "deleted";

describe("rows that a walk did not return", () => {
  test.each([
    [0, 0, "deleted"],
    [0, 10, "deleted"],
    [2, 10, "deleted"],
    [3, 10, "MASS_DELETE_REFUSED"],
    [10, 10, "MASS_DELETE_REFUSED"],
  ])("%i of %i: %s", (missing, rows, expected) => {
    expect(verdict("news_articles", missing, rows)).toBe(expected);
  });

  test("all rows of a list that needs Full Access point to the organization's tier", () => {
    expect(verdict("signals", 10, 10)).toBe("TIER_LOWERED");
    expect(verdict("signals", 9, 10)).toBe("MASS_DELETE_REFUSED");
  });

  test("may all be deleted where that is allowed, or where the share permits it", () => {
    expect(verdict("signals", 10, 10, { allowMassDelete: true })).toBe("deleted");
    expect(verdict("signals", 9, 10, { maxShare: 0.9 })).toBe("deleted");
    // A list that is empty all of a sudden is suspicious at any share.
    expect(verdict("news_articles", 10, 10, { maxShare: 1 })).toBe("MASS_DELETE_REFUSED");
  });
});
