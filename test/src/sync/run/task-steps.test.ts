// What the end of a list means for its rows.
import { expect, test } from "vitest";
import { contentOfAll, mayHaveLost } from "../../../../src/sync/run/task-steps.ts";
import { aTask } from "./a-task.ts";

const mirrored = (more: Partial<Parameters<typeof mayHaveLost>[0]> = {}) => {
  const { progress } = aTask();
  return { firstMirror: false, progress, rows: 10, misfits: 0, ...more };
};

test("rows may be gone where a list that adds up showed fewer ids than are mirrored", () => {
  expect(mayHaveLost(mirrored(), 9, true)).toBe(true);
  expect(mayHaveLost(mirrored(), 10, true)).toBe(false);
});

test("a list that does not add up deletes nothing, however few ids it showed", () => {
  expect(mayHaveLost(mirrored(), 0, false)).toBe(false);
});

test("a misfit's id hides a row that is gone", () => {
  expect(mayHaveLost(mirrored({ misfits: 1 }), 10, true)).toBe(true);
});

test("the first walk of a list has nothing to compare with, and a log never loses rows", () => {
  expect(mayHaveLost(mirrored({ firstMirror: true }), 0, true)).toBe(false);
  const { progress } = aTask({ stream: "usage", scope: "requests", mode: "log" });
  expect(progress?.kind).toBe("log");
  expect(mayHaveLost(mirrored({ progress }), 0, true)).toBe(false);
});

test("a complete walk gives every row the content that it asked for and got; another read takes from what it did not ask", () => {
  const shape = { grants: ["a", "b"], walkedWith: ["b", "c"] };
  expect(contentOfAll(shape, ["a", "x"], true)).toEqual(["a"]);
  expect(contentOfAll(shape, ["a", "b"], false)).toEqual(["b"]);
});
