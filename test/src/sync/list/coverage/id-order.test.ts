// Which ids are falling numbers.
import { expect, test } from "vitest";
import { isDescending } from "../../../../../src/sync/list/coverage/id-order.ts";

test.each([
  [["3", "2", "1"], true],
  [["3", "3"], false],
  [["1", "2"], false],
  [["-1", "-2"], true],
  [["9007199254740993", "9007199254740992"], true],
  [["b", "a"], false],
  [["2", "a"], false],
  [["a"], false],
  [["1.5"], false],
  [["10x"], false],
  [["x10"], false],
  [["2", "1x"], false],
  [["7"], true],
  [[], true],
])("%j descend: %s", (list, descends) => {
  expect(isDescending(list)).toBe(descends);
});
