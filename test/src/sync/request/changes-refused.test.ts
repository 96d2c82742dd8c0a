// Which refusals of a reading of changes are the fault of its order or of its filter.
import { describe, expect, test } from "vitest";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { withoutChanges } from "../../../../src/sync/request/changes-refused.ts";

const shape: ListShape = { ...initialShape(100), settled: true };
const shapeAfter = (
  { sort = false, perPage = 100, excerpt = "bad request" },
  reading: { ordered?: boolean; filter?: string | null; accepted?: ListShape | null },
  before: Partial<ListShape> = {},
) => {
  const refused = { perPage, sort, include: false, content: false, names: false, filters: false };
  return withoutChanges({ ...shape, ...before }, refused, excerpt, {
    ordered: false,
    filter: null,
    accepted: null,
    ...reading,
  });
};

describe("the order", () => {
  const ordered = { ordered: true };

  test.each(["sortBy is not allowed", "unknown ORDER"])(
    "is given up for good if the response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ sort: true, excerpt }, ordered)).toEqual({ ...shape, changeOrder: false, settled: false });
    },
  );

  test("is given up for this run if the list was walked without one", () => {
    const walked = { ...shape, sort: false };
    expect(shapeAfter({ sort: true }, ordered, walked)).toEqual({ ...walked, changeOrder: false });
  });

  test("is given up for this run if a smaller page than the accepted one is refused, too", () => {
    expect(shapeAfter({ sort: true, perPage: 50 }, { ...ordered, accepted: shape })).toEqual({
      ...shape,
      changeOrder: false,
    });
    expect(shapeAfter({ sort: true, perPage: 100 }, { ...ordered, accepted: shape })).toBeNull();
    expect(shapeAfter({ sort: true, perPage: 50 }, { ...ordered, accepted: { ...shape, settled: false } })).toBeNull();
  });

  test("is not at fault where it was not sent, or where nothing shows it", () => {
    expect(shapeAfter({ excerpt: "sortBy" }, ordered)).toBeNull();
    expect(shapeAfter({ sort: true }, ordered)).toBeNull();
  });
});

describe("the filter", () => {
  const filtered = { filter: "changedAfter" };

  test.each(["CHANGEDAFTER is unknown", "invalid filter", "no such date"])(
    "is given up for good if the response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ excerpt }, filtered)).toEqual({ ...shape, changeFilter: false, settled: false });
    },
  );

  test("is not named by a word that only contains the letters of date", () => {
    expect(shapeAfter({ excerpt: "please update" }, filtered)).toBeNull();
  });

  test("is given up for this run if a smaller page than the accepted one is refused, too", () => {
    expect(shapeAfter({ perPage: 50 }, { ...filtered, accepted: shape })).toEqual({ ...shape, changeFilter: false });
    expect(shapeAfter({ perPage: 100 }, { ...filtered, accepted: shape })).toBeNull();
  });

  test("is not at fault where the list is read without one", () => {
    expect(shapeAfter({ excerpt: "filter" }, {})).toBeNull();
  });
});
