// Parts that the settings of every destination share.
import { expect, test } from "vitest";
import { z } from "zod";
import {
  answerTimeout,
  oneOf,
  sharedParts,
  textLike,
} from "../../../../../src/core/config/destinations/destination-parts.ts";

const parts = z.object(sharedParts);
const fits = (given: Record<string, unknown>) => parts.safeParse({ name: "lake", ...given }).success;

test.each([
  ["a", true],
  ["Lake_1-x", true],
  ["-lake", false],
  ["la/ke", false],
  ["", false],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
])("the name %j fits: %s, so that it can be a file's and a queue's", (name, expected) => {
  expect(fits({ name })).toBe(expected);
});

test("an address has some sign, a variable the name of one; tables are all unless named", () => {
  expect([fits({ url: " " }), fits({ url: "s3://lake" })]).toEqual([false, true]);
  expect([fits({ url_env: "LAKE_URL" }), fits({ url_env: "1LAKE" }), fits({ url_env: "s3://lake" })]).toEqual([
    ...[true, false, false],
  ]);
  expect(parts.parse({ name: "lake" }).tables).toEqual([]);
});

test("a time limit lies between a second and a day, and has its usual value unset", () => {
  const limit = answerTimeout("2m");
  expect(limit.parse(undefined)).toBe(120_000);
  expect([limit.parse("1s"), limit.parse("24h")]).toEqual([1_000, 86_400_000]);
  for (const text of ["999ms", "25h", "0s"]) {
    expect(limit.safeParse(text).success, text).toBe(false);
  }
});

test("what does not fit is repeated with what was expected", () => {
  const message = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues[0]?.message;
  expect(message(textLike("a colour", /^red$/), "blue")).toMatch(/blue.* is not a colour$/);
  expect(message(oneOf(["a", "b"]), "c")).toBe("is not one of a, b");
});
