// Each column takes the values that it holds exactly; of all others it says what it lost.

import { DuckDBTimestampTZValue, listValue } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { ExactNumber, type JsonValue } from "../../../../src/core/json.ts";
import {
  type Cell,
  convertCell,
  duckCell,
  isBeyondBigint,
  jsonTypeOf,
} from "../../../../src/warehouse/record/convert-cell.ts";

// Cells in the form of DuckDB's appender.

test("a time is microseconds since the epoch, a list a list, all else itself", () => {
  expect(duckCell("TIMESTAMPTZ", 7n)).toEqual(new DuckDBTimestampTZValue(7n));
  expect(duckCell("TIMESTAMPTZ", null)).toBeNull();
  expect(duckCell("VARCHAR[]", ["a", "b"])).toEqual(listValue(["a", "b"]));
  expect(duckCell("VARCHAR[]", null)).toBeNull();
  expect([duckCell("BIGINT", 7n), duckCell("VARCHAR", ""), duckCell("BOOLEAN", false)]).toEqual([7n, "", false]);
});

const fits = (cell: Cell) => ({ cell, exact: true, otherType: false });
const lost = { cell: null, exact: false, otherType: false };
const misfit = { cell: null, exact: false, otherType: true };

describe("text", () => {
  test("is stored as it is, and half a surrogate pair is replaced", () => {
    expect(convertCell("VARCHAR", "ä\u0000😀", "none")).toEqual(fits("ä\u0000😀"));
    expect(convertCell("VARCHAR", "half \ud83d", "none")).toEqual({ ...fits("half \ufffd"), exact: false });
  });
  test.each<[string, JsonValue]>([
    ["empty", ""],
    ["not to be stored exactly", "half \ud83d"],
    ["a fraction", 1.5],
    ["a number that a double rounds", 2 ** 53],
    ["a list", ["1"]],
  ])("a key that is %s identifies no row", (_, key) => {
    expect(convertCell("VARCHAR", key, "key")).toEqual(misfit);
  });
  test("a whole number identifies a row or leads to one, but is no other text", () => {
    const asText = { cell: "7", exact: false, otherType: true };
    expect(convertCell("VARCHAR", 7, "key")).toEqual(asText);
    expect(convertCell("VARCHAR", 7, "reference")).toEqual(asText);
    expect(convertCell("VARCHAR", 2n ** 64n, "key")).toEqual({ ...asText, cell: "18446744073709551616" });
    expect(convertCell("VARCHAR", 7, "none")).toEqual(misfit);
  });
});

describe("whole numbers", () => {
  test.each<[JsonValue, bigint]>([
    [7, 7n],
    [-0, 0n],
    [2n ** 63n - 1n, 2n ** 63n - 1n],
    [-(2n ** 63n), -(2n ** 63n)],
  ])("%s fits", (value, cell) => {
    expect(convertCell("BIGINT", value, "none")).toEqual(fits(cell));
  });
  test.each(["0", "-1", "9007199254740993"])("so does the text %s, in the form of the number itself", (text) => {
    expect(convertCell("BIGINT", text, "none")).toEqual({ ...fits(BigInt(text)), otherType: true });
  });
  test.each(["40.0", "40.00"])("so does %s, with zeros behind the point", (text) => {
    expect(convertCell("BIGINT", text, "none")).toEqual({ ...fits(40n), otherType: true });
  });
  test.each(["", "007", "+7", "-0", "7.", "7.5", " 7", "7e3", "9223372036854775808"])(
    "the text %j does not",
    (text) => {
      expect(convertCell("BIGINT", text, "none")).toEqual(misfit);
    },
  );
  test("a number outside the column's range has the right type, but no place", () => {
    expect(convertCell("BIGINT", 2n ** 63n, "none")).toEqual(lost);
    expect(convertCell("BIGINT", 1.5, "none")).toEqual(lost);
    expect(convertCell("INTEGER", 2 ** 31, "none")).toEqual(lost);
    expect(convertCell("INTEGER", 2 ** 31 - 1, "none")).toEqual(fits(2 ** 31 - 1));
    expect([2n ** 63n, -(2n ** 63n) - 1n].map(isBeyondBigint)).toEqual([true, true]);
    expect([2n ** 63n - 1n, -(2n ** 63n), 1].map(isBeyondBigint)).toEqual([false, false, false]);
  });
});

test("decimals fit as numbers, and as text of digits, also with zeros at the end", () => {
  expect(convertCell("DOUBLE", 0.1, "none")).toEqual(fits(0.1));
  expect(convertCell("DOUBLE", "0.1", "none")).toEqual({ ...fits(0.1), otherType: true });
  for (const [text, value] of [
    ["86.80", 86.8],
    ["40.0", 40],
    ["0.0", 0],
    ["-1.50", -1.5],
  ] as const) {
    expect(convertCell("DOUBLE", text, "none"), text).toEqual({ ...fits(value), otherType: true });
  }
  for (const text of ["", "01", ".5", "5.", "1e3", "1,5", "-0"]) {
    expect(convertCell("DOUBLE", text, "none"), text).toEqual(misfit);
  }
  expect(convertCell("DOUBLE", 2n ** 60n, "none")).toEqual(fits(2 ** 60));
  expect(convertCell("DOUBLE", 2n ** 60n + 1n, "none")).toEqual(lost);
});

test("a decimal with more digits than a double holds is the nearest double, and is kept exactly besides", () => {
  const near = { cell: Number("0.1234567890123456789"), exact: false };
  expect(convertCell("DOUBLE", new ExactNumber("0.1234567890123456789"), "none")).toEqual({
    ...near,
    otherType: false,
  });
  expect(convertCell("DOUBLE", "0.1234567890123456789", "none")).toEqual({ ...near, otherType: true });
  expect(convertCell("BIGINT", new ExactNumber("7.1234567890123456789"), "none")).toEqual(lost);
  const object = { n: new ExactNumber("0.1234567890123456789"), m: [new ExactNumber("1e-400")] };
  expect(convertCell("JSON", object, "none")).toEqual(fits('{"n":0.1234567890123456789,"m":[1e-400]}'));
});

test("times are microseconds since the epoch; finer ones are cut, what is no time is lost", () => {
  expect(convertCell("TIMESTAMPTZ", "1970-01-01T00:00:01Z", "none")).toEqual(fits(1_000_000n));
  expect(convertCell("TIMESTAMPTZ", "1970-01-01T00:00:00.0000019Z", "none")).toEqual({ ...fits(1n), exact: false });
  expect(convertCell("TIMESTAMPTZ", "soon", "none")).toEqual(lost);
  expect(convertCell("TIMESTAMPTZ", 1, "none")).toEqual(misfit);
});

test("flags, lists of texts and objects", () => {
  expect(convertCell("BOOLEAN", false, "none")).toEqual(fits(false));
  expect(convertCell("BOOLEAN", "false", "none")).toEqual(misfit);
  expect(convertCell("VARCHAR[]", ["a", null], "none")).toEqual(fits(["a", null]));
  expect(convertCell("VARCHAR[]", ["\ud83d"], "none")).toEqual({ ...fits(["\ufffd"]), exact: false });
  expect(convertCell("VARCHAR[]", ["a", 1], "none")).toEqual(misfit);
  expect(convertCell("VARCHAR[]", "a", "none")).toEqual(misfit);
  expect(convertCell("JSON", { b: 2n ** 64n, a: "x" }, "none")).toEqual(fits('{"b":18446744073709551616,"a":"x"}'));
});

test("the type of a value is named as JSON names it", () => {
  expect([null, [], {}, 1n, 1, "", true].map(jsonTypeOf)).toEqual([
    "null",
    "array",
    "object",
    "number",
    "number",
    "string",
    "boolean",
  ]);
});
