// Parameters of a statement: where they are, and that a value can never become SQL.
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvOf, jsonOf } from "../../../../../src/server/page/explorer/download.ts";
import { parametersOf, withParameters } from "../../../../../src/server/page/explorer/parameters.ts";

test("a name inside of a text, a quoted name or a comment is no parameter", () => {
  const sql = `select '$no', "$no" -- $no\nfrom t where a = $one and b > $two or c = $one`;
  expect(parametersOf(sql)).toEqual(["one", "two"]);
  expect(withParameters(sql, { one: "x", two: "1.5", no: "?" })).toBe(
    `select '$no', "$no" -- $no\nfrom t where a = 'x' and b > 1.5 or c = 'x'`,
  );
});

test("whatever a value holds, it stays one literal", () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      const literal = withParameters("$v", { v: value });
      const isNumber = /^-?\d+(\.\d+)?$/.test(value);
      expect(literal).toBe(isNumber ? value : `'${value.replaceAll("'", "''")}'`);
      expect(isNumber ? "" : literal.slice(1, -1).replaceAll("''", "")).not.toContain("'");
    }),
  );
});

test("CSV quotes what would break a line or a column, and JSON keeps big numbers as text", () => {
  const result = {
    columns: [
      { name: "a,b", type: "VARCHAR" },
      { name: "n", type: "BIGINT" },
    ],
    rows: [
      ['say "hi"', "9007199254740993"],
      [null, 5],
    ],
    truncated: false,
    ms: 1,
  };
  expect(csvOf(result)).toBe('"a,b",n\r\n"say ""hi""",9007199254740993\r\n,5\r\n');
  expect(JSON.parse(jsonOf(result))).toEqual([
    { "a,b": 'say "hi"', n: "9007199254740993" },
    { "a,b": null, n: 5 },
  ]);
});
