// JSON values.
import { expect, test } from "vitest";
import { isJsonObject, jsonOrNull, jsonOrText } from "../../../src/core/json.ts";

test("lists and null are no objects", () => {
  expect([{}, { a: 1 }, [], null, "a", 1n].map(isJsonObject)).toEqual([true, true, false, false, false, false]);
});

test("a line that a crash cut off is null, like no line", () => {
  expect([jsonOrNull('{"a":1}'), jsonOrNull('{"a":'), jsonOrNull("")]).toEqual([{ a: 1 }, null, null]);
});

test("a text that is no JSON stays as it is; null is a value", () => {
  expect(['{"a":1}', "null", "plain words"].map(jsonOrText)).toEqual([{ a: 1 }, null, "plain words"]);
});
