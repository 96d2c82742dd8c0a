// The option --since.
import { expect, test } from "vitest";
import { sinceOf } from "../../../../src/cli/options/since-option.ts";

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
