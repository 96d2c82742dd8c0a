// How long a list that ends before its count is not walked again.
import { expect, test } from "vitest";
import { endsAtWindow } from "../../../../src/sync/list/window.ts";

const DAY = 86_400_000;

test("a window holds walks up until its time, and a clock that was ahead holds nothing up for longer", () => {
  const window = { rows: 500, walks: 1, notBefore: 10 * DAY };
  expect(endsAtWindow(window, 9 * DAY)).toBe(true);
  expect(endsAtWindow(window, 10 * DAY)).toBe(false);
  expect(endsAtWindow({ ...window, notBefore: 400 * DAY }, DAY)).toBe(false);
  expect(endsAtWindow(null, DAY)).toBe(false);
});
