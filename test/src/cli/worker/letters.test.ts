import { expect, test } from "vitest";
import { chosenLetters } from "../../../../src/cli/worker/letters.ts";

test.each([
  [
    { ids: ["a", "b"], all: false },
    { by: "id", ids: ["a", "b"] },
  ],
  [
    { ids: [], all: false, queue: "exports" },
    { by: "queue", queue: "exports" },
  ],
  [{ ids: [], all: true }, { by: "all" }],
])("failed jobs are chosen in one way: %o", (typed, choice) => {
  expect(chosenLetters(typed)).toEqual(choice);
});

test.each([
  { ids: [], all: false },
  { ids: ["a"], all: true },
  { ids: ["a"], all: false, queue: "exports" },
  { ids: [], all: true, queue: "exports" },
])("no way and several ways are refused: %o", (typed) => {
  expect(() => chosenLetters(typed)).toThrow(expect.objectContaining({ code: "USAGE" }));
});
