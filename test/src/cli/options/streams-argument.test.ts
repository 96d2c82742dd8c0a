// Names of streams as arguments.
import { expect, test } from "vitest";
import { sinceOf, streamsOf } from "../../../../src/cli/options/streams-argument.ts";

// The option --since.

const NOW = Date.UTC(2026, 0, 2);

test.each([
  ["24h", Date.UTC(2026, 0, 1)],
  ["2025-01-31", Date.UTC(2025, 0, 31)],
  ["2025-01-31T12:00Z", Date.UTC(2025, 0, 31, 12)],
])("%s is a moment", (text, at) => {
  expect(sinceOf(text, NOW)).toBe(at);
});

test("anything else is a usage error that repeats it", () => {
  expect(() => sinceOf("yesterday", NOW)).toThrow('"yesterday" is neither a time like 2025-01-31 nor 24h');
});

test("names are parted by spaces and commas alike", () => {
  expect(streamsOf(["accounts,signals", " usage ", "a,,b"])).toEqual(["accounts", "signals", "usage", "a", "b"]);
  expect(streamsOf([])).toEqual([]);
});

test.each([[[""]], [[" , "]], [["", ""]]])("%j names nothing, which does not mean all", (args) => {
  expect(() => streamsOf(args)).toThrow("the argument for the streams is empty");
});
