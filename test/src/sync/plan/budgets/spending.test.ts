// Days and periods of budgets.
import fc from "fast-check";
import { expect, test } from "vitest";
import { dayStart, periodStart } from "../../../../../src/sync/plan/budgets/spending.ts";

const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();

test.each([
  ["2026-11-22T10:00:00Z", "2026-12-01T00:00:00Z", "2026-11-01T00:00:00.000Z"],
  ["2026-11-22T10:00:00Z", "2026-12-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  // A reset that has passed: the period that followed it.
  ["2026-11-22T10:00:00Z", "2026-11-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  ["2026-11-22T10:00:00Z", "2026-08-15T08:30:00Z", "2026-11-15T08:30:00.000Z"],
  // Months of other lengths.
  ["2026-03-15T00:00:00Z", "2026-03-31T00:00:00Z", "2026-02-28T00:00:00.000Z"],
  ["2026-11-22T10:00:00Z", null, "2026-11-01T00:00:00.000Z"],
])("at %s with a reset at %s the period began at %s", (now, resetsAt, start) => {
  expect(iso(periodStart(at(now), resetsAt === null ? null : at(resetsAt)))).toBe(start);
});

test("a period holds the present and is at most a month long, whatever the reset", () => {
  const time = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2029-01-01T00:00:00Z") });
  fc.assert(
    fc.property(time, fc.integer({ min: -400, max: 31 }), (now, days) => {
      const start = periodStart(now, now + days * 86_400_000);
      expect(start).toBeLessThanOrEqual(now);
      expect(now - start).toBeLessThanOrEqual(31 * 86_400_000);
    }),
  );
});

test("a day starts at midnight UTC", () => {
  expect(iso(dayStart(at("2026-11-22T23:59:59Z")))).toBe("2026-11-22T00:00:00.000Z");
});
