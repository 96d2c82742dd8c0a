// Ranges of row ids: they cover every row, and a gap between them is worth a scan of its own.
import fc from "fast-check";
import { expect, test } from "vitest";
import { rangesOf } from "../../../../src/warehouse/duckdb/append.ts";

test("every row lies in one range, each range begins and ends with a row, and large gaps lie between them", () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 10_000_000n }), { maxLength: 300 }), (rows) => {
      const sorted = [...rows].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      const ranges = rangesOf(sorted);
      for (const row of sorted) expect(ranges.filter(({ from, to }) => row >= from && row <= to)).toHaveLength(1);
      for (const { from, to } of ranges) expect(sorted.includes(from) && sorted.includes(to)).toBe(true);
      const gaps = ranges.slice(1).map(({ from }, at) => from - (ranges[at]?.to ?? 0n));
      for (const gap of gaps) expect(gap).toBeGreaterThan(50_000n);
    }),
  );
});

test("a gap of 50,000 rows is read through, a larger one is not", () => {
  expect(rangesOf([1n, 50_001n])).toEqual([{ from: 1n, to: 50_001n }]);
  expect(rangesOf([1n, 50_002n])).toEqual([
    { from: 1n, to: 1n },
    { from: 50_002n, to: 50_002n },
  ]);
  expect(rangesOf([])).toEqual([]);
});
