// Whether a destination needs anything.
import { expect, test } from "vitest";
import { isUpToDate } from "../../../src/deliver/destination.ts";

const position = { mirror: "m", n: 7, mark: "x" };

test("it needs nothing at the same change of the same mirror with the same mark", () => {
  expect(isUpToDate(position, { position: { ...position }, takeOver: false })).toBe(true);
  for (const other of [{ mirror: "m2" }, { n: 8 }, { mark: "y" }]) {
    expect(isUpToDate({ ...position, ...other }, { position, takeOver: false })).toBe(false);
  }
  expect(isUpToDate(null, { position, takeOver: false })).toBe(false);
});

test("to take a destination over brings every row, also to one at the newest change", () => {
  expect(isUpToDate(position, { position, takeOver: true })).toBe(false);
});
