// The service's counts of signals, held against the mirror's.
import { expect, test } from "vitest";
import { countDifferences } from "../../../../src/sync/verify/records.ts";

const found = (
  mirrored: readonly (readonly [string | null, number])[],
  counts: Parameters<typeof countDifferences>[1],
) => countDifferences(new Map(mirrored), counts).map(({ field, mirror, api }) => [field, mirror, api]);

test("equal counts are no difference, and accounts are no type of signal", () => {
  const mirrored = [
    ["podcast", 2],
    ["press-release", 1],
  ] as const;
  expect(found(mirrored, { all: 3, accounts: 77, podcast: 2, "press-release": 1 })).toEqual([]);
});

test("a type of which the service counts more or fewer is a difference, and so is their sum", () => {
  expect(found([["podcast", 2]], { all: 5, podcast: 5 })).toEqual([
    ["type=podcast", "2", "5"],
    ["all", "2", "5"],
  ]);
});

test("a documented type that the service does not name has no signal there", () => {
  expect(found([["podcast", 2]], {})).toEqual([["type=podcast", "2", "0"]]);
});

test("a type that no document names is compared, too", () => {
  expect(found([], { "new-kind": 4 })).toEqual([["type=new-kind", "0", "4"]]);
});

test("signals without a type count among all of them, as they do at the service", () => {
  const mirrored = [
    ["podcast", 2],
    [null, 3],
  ] as const;
  expect(found(mirrored, { all: 5, podcast: 2 })).toEqual([]);
  expect(found(mirrored, { all: 2, podcast: 2 })).toEqual([["all", "5", "2"]]);
});

test("counts that came as texts are compared by their value, and something else is a difference", () => {
  expect(found([["podcast", 2]], { all: "2", podcast: "2" })).toEqual([]);
  expect(found([["podcast", 2]], { podcast: "many" })).toEqual([["type=podcast", "2", "many"]]);
});
