// JSON values.
import { expect, test } from "vitest";
import { isJsonObject, jsonOrNull } from "../../../src/core/json.ts";

test("lists and null are no objects", () => {
  expect([{}, { a: 1 }, [], null, "a", 1n].map(isJsonObject)).toEqual([true, true, false, false, false, false]);
});

test("a line that a crash cut off is null, like no line", () => {
  expect([jsonOrNull('{"a":1}'), jsonOrNull('{"a":'), jsonOrNull("")]).toEqual([{ a: 1 }, null, null]);
});
