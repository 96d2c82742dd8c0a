// Numbers of changes, and which of them a replay leaves out.
import { expect, test } from "vitest";
import { type ChangeKind, nextNumbers, type RedactedChange } from "../../../../src/warehouse/load/change-log.ts";

const insert: ChangeKind = { table: "contacts", change: "insert", runId: "r", at: 1 };
const update: ChangeKind = { ...insert, change: "update" };
const redacted = (n: number, kind: ChangeKind): [number, RedactedChange] => [n, { ...kind, n, key: "forgotten:x" }];

test("numbers follow one another", () => {
  expect(nextNumbers(4, { count: 3, kind: insert }, new Map())).toEqual({
    ranges: [{ first: 5, count: 3 }],
    redacted: [],
    stretches: [{ first: 5, last: 7, kind: insert }],
    last: 7,
  });
});

test("a replay leaves out the numbers of erased contacts, and keeps those of their kind in one stretch", () => {
  const past = new Map([redacted(5, insert), redacted(7, insert), redacted(9, insert), redacted(10, update)]);
  const { ranges, stretches, last, redacted: skipped } = nextNumbers(4, { count: 2, kind: insert }, past);
  expect(ranges).toEqual([
    { first: 6, count: 1 },
    { first: 8, count: 1 },
  ]);
  expect(stretches).toEqual([{ first: 5, last: 9, kind: insert }]);
  expect([last, skipped.map(({ n }) => n)]).toEqual([9, [5, 7, 9]]);
  expect(nextNumbers(9, { count: 0, kind: insert }, past)).toMatchObject({ ranges: [], last: 10 });
});
