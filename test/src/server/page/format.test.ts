// Numbers, ages and sizes as the page shows them.
import { expect, test } from "vitest";
import { ago, bytes, cellText, count, counted, moodOf, span, when } from "../../../../src/server/page/format.ts";

test.each([
  [-5, "0ms"],
  [999, "999ms"],
  [1000, "1s"],
  [89_400, "89s"],
  [90_000, "2m"],
  [89 * 60_000, "89m"],
  [90 * 60_000, "2h"],
  [35 * 3_600_000, "35h"],
  [36 * 3_600_000, "2d"],
])("%i ms are shown in the largest unit that still says something: %s", (ms, text) => {
  expect(span(ms)).toBe(text);
});

test("what is not known is a dash, or never, and not zero", () => {
  expect([count(null), count(undefined), when(null), bytes(null), ago(null, 5)]).toEqual(["–", "–", "–", "–", "never"]);
  expect([count(0), ago(0, 3000)]).toEqual(["0", "3s ago"]);
});

test.each([
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [10 * 1024, "10 KiB"],
  [1536 * 1024, "1.5 MiB"],
  [5000 * 2 ** 30, "5000 GiB"],
])("%i bytes are %s: a fraction below ten, GiB at most", (size, text) => {
  expect(bytes(size)).toBe(text);
});

test("one thing is singular, everything else plural", () => {
  expect([counted(1, "row"), counted(0, "row"), counted(1234, "row")]).toEqual(["1 row", "0 rows", "1,234 rows"]);
});

test("a run that ended early is a warning, one that failed is bad, and one under way is neither", () => {
  expect(["done", "partial", "stopped", "interrupted", "cancelled", "failed", "running"].map(moodOf)).toEqual([
    ...["good", "warn", "warn", "warn", "warn", "bad", "plain"],
  ]);
});

test("a text cell is shown without quotes, an object as JSON, NULL as null", () => {
  expect([cellText("a"), cellText({ a: 1 }), cellText(null), cellText(7)]).toEqual(["a", '{"a":1}', "null", "7"]);
});
