// What the shell of a list stores beside its state.
import { expect, test } from "vitest";
import { contentOfAll } from "../../../../src/sync/run/read-list.ts";

test("a complete walk gives every row the content that it asked for and got; another read takes from what it did not ask", () => {
  const shape = { grants: ["a", "b"], walkedWith: ["b", "c"] };
  expect(contentOfAll(shape, ["a", "x"], true)).toEqual(["a"]);
  expect(contentOfAll(shape, ["a", "b"], false)).toEqual(["b"]);
});
