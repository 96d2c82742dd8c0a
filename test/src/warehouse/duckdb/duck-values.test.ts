// Parameters in the form of DuckDB's client: the type of each value is the one that its column has.
import { BIGINT, BOOLEAN, DOUBLE, HUGEINT, LIST, listValue, SQLNULL, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { instant, toDuck } from "../../../../src/warehouse/duckdb/duck-values.ts";

const BIG = 2n ** 63n;

test.each([
  [null, null, SQLNULL],
  ["x", "x", VARCHAR],
  [true, true, BOOLEAN],
  [7, 7n, BIGINT],
  [-0, 0n, BIGINT],
  [7.5, 7.5, DOUBLE],
  [2 ** 53, 2 ** 53, DOUBLE],
  [Number.NaN, Number.NaN, DOUBLE],
  [BIG - 1n, BIG - 1n, BIGINT],
  [-BIG, -BIG, BIGINT],
  [BIG, BIG, HUGEINT],
  [-BIG - 1n, -BIG - 1n, HUGEINT],
])("%s", (value, bound, type) => {
  expect(toDuck(value)).toEqual({ value: bound, type });
});

test("texts are a list, and a point in time keeps its microseconds", () => {
  expect(toDuck(["a", null])).toEqual({ value: listValue(["a", null]), type: LIST(VARCHAR) });
  const { value, type } = toDuck(instant(1_700_000_000_000.123));
  expect(type).toBe(TIMESTAMPTZ);
  expect(value).toMatchObject({ micros: 1_700_000_000_000_123n });
  expect(instant(null)).toBeNull();
});
