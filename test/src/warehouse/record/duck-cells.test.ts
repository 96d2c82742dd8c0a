// Cells in the form of DuckDB's appender.
import { DuckDBTimestampTZValue, listValue } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { duckCell } from "../../../../src/warehouse/record/duck-cells.ts";

test("a time is microseconds since the epoch, a list a list, all else itself", () => {
  expect(duckCell("TIMESTAMPTZ", 7n)).toEqual(new DuckDBTimestampTZValue(7n));
  expect(duckCell("TIMESTAMPTZ", null)).toBeNull();
  expect(duckCell("VARCHAR[]", ["a", "b"])).toEqual(listValue(["a", "b"]));
  expect(duckCell("VARCHAR[]", null)).toBeNull();
  expect([duckCell("BIGINT", 7n), duckCell("VARCHAR", ""), duckCell("BOOLEAN", false)]).toEqual([7n, "", false]);
});
