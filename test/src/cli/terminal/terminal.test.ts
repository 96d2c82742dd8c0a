// Width of the output.
import { expect, test } from "vitest";
import { outputWidth } from "../../../../src/cli/terminal/terminal.ts";

test("the width is what COLUMNS asks for, else the terminal's, and without a terminal nothing is cut", () => {
  expect(outputWidth({ COLUMNS: "60" }, 120)).toBe(60);
  expect(outputWidth({ COLUMNS: "60" }, null)).toBe(60);
  expect(outputWidth({}, 120)).toBe(120);
  expect(outputWidth({ COLUMNS: "" }, 120)).toBe(120);
  expect(outputWidth({ COLUMNS: "wide" }, null)).toBeGreaterThan(5000);
});
