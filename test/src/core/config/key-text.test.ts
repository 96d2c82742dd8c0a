// Server keys that people choose.
import { expect, test } from "vitest";
import { keyProblem } from "../../../../src/core/config/key-text.ts";

test.each(["7f3c9a1be0d24c58a6b1f09d3e7c2a41", "Correct-Horse-Battery-9"])("%s is taken", (key) => {
  expect(keyProblem(key)).toBeNull();
});

test.each([
  ["short-1234567", /16 or more/],
  ["with spaces in between them", /no spaces/],
  ["aaaaaaaaaaaaaaaaaaaaaaaa", /easy to guess/],
  ["abababababababababababab", /easy to guess/],
])("%s is refused, without naming it", (key, problem) => {
  expect(keyProblem(key)).toMatch(problem);
  expect(keyProblem(key)).not.toContain(key);
});
