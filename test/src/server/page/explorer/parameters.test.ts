// Parameters of a statement: where they are, and that a value can never become SQL.
import fc from "fast-check";
import { expect, test } from "vitest";
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
