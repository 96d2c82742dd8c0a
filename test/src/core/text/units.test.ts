// Durations, sizes and counts, read and written.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatBytes,
  formatCount,
  formatDuration,
  parseBytes,
  parseDuration,
} from "../../../../src/core/text/units.ts";

test.each([
  ["7d", 604_800_000],
  ["1h30m", 5_400_000],
  ["1.5 h", 5_400_000],
  ["500ms", 500],
  ["2w", 1_209_600_000],
  ["0s", 0],
])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each(["", "7", "d", "-1d", "7 days", "1h-2m", "1e3s"])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeNull();
});

test.each([
  ["64MiB", 67_108_864],
  ["10 mb", 10_000_000],
  ["1024", 1024],
])("%s is %d bytes", (text, bytes) => expect(parseBytes(text)).toBe(bytes));

test.each(["", "MiB", "-1", "1 potato", "1 toString"])("%j is no size", (text) => expect(parseBytes(text)).toBeNull());

test.each([
  [0, "0.0s"],
  [340, "0.3s"],
  [250_000, "4m 10s"],
  [3_600_000, "1h"],
  [90_061_000, "1d 1h"],
  [59_999, "1m"],
])("%d ms reads %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

test("what formatDuration writes from a minute on, parseDuration reads back to within its smallest unit", () => {
  fc.assert(
    fc.property(fc.integer({ min: 60_000, max: 10 ** 10 }), (ms) => {
      const back = parseDuration(formatDuration(ms)) ?? Number.NaN;
      expect(Math.abs(back - ms) / ms).toBeLessThan(0.05);
    }),
  );
});

test("sizes and counts read the same in every locale", () => {
  expect([formatBytes(12), formatBytes(1536), formatBytes(826_000_000)]).toEqual(["12 B", "1.5 KiB", "788 MiB"]);
  expect([formatCount(7), formatCount(1234567), formatCount(9007199254740993n)]).toEqual([
    "7",
    "1,234,567",
    "9,007,199,254,740,993",
  ]);
});
