// How long a list that ends before its count is not walked again.
import { expect, test } from "vitest";
import { endsAtWindow, endsThereAgain } from "../../../../src/sync/list/window.ts";

const DAY = 86_400_000;

test("a window holds walks up until its time, and a clock that was ahead holds nothing up for longer", () => {
  const window = { rows: 500, walks: 1, notBefore: 10 * DAY, spread: 0 };
  expect(endsAtWindow(window, 9 * DAY)).toBe(true);
  expect(endsAtWindow(window, 10 * DAY)).toBe(false);
  expect(endsAtWindow({ ...window, notBefore: 400 * DAY }, DAY)).toBe(false);
  expect(endsAtWindow(null, DAY)).toBe(false);
});

test("a count that differs is the same disagreement only near the rows, and after two walks that ended there", () => {
  const window = { rows: 700, walks: 2, notBefore: 0, spread: 15 };
  expect(endsThereAgain(window, { total: 671, rows: 700, isSteady: false })).toBe(true);
  expect(endsThereAgain(window, { total: 731, rows: 700, isSteady: false })).toBe(false);
  expect(endsThereAgain({ ...window, walks: 1 }, { total: 700, rows: 700, isSteady: false })).toBe(false);
});
