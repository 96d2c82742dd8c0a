// Values of a text are counted before it is parsed.
import { expect, test } from "vitest";
import { hasMoreValues } from "../../../../src/api/json/count-values.ts";

test("values are counted, commas in strings are not", () => {
  const ones = JSON.stringify({ data: Array(1_000).fill(1) });
  expect([hasMoreValues(ones, 900), hasMoreValues(ones, 1_100)]).toEqual([true, false]);
  const prose = JSON.stringify({ data: ["a, [b], \\", `{"quoted": "x, y"},`.repeat(500)] });
  expect(hasMoreValues(prose, 10)).toBe(false);
});

test("a text that breaks off, or has few characters, has no more", () => {
  expect(hasMoreValues(`{"data":[${"1,".repeat(100)}"${"x".repeat(1_000)}`, 500)).toBe(false);
  expect(hasMoreValues("[1,2,3]", 100)).toBe(false);
});
