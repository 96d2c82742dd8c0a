// Ids of runs sort by time.
import { expect, test } from "vitest";
import { newRunId, runIdSchema } from "../../../../src/core/text/run-id.ts";

test("an id is its time in UTC and a random part of six characters", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  expect(newRunId(at, () => 0)).toBe("20260102T030405Z-000000");
  expect(newRunId(at, () => 1 - 2 ** -53)).toBe("20260102T030405Z-zzzzzz");
  expect(newRunId(at, () => 0.5) < newRunId(at + 1_000, () => 0)).toBe(true);
});

test.each(["__proto__", "../..", "a\nb", "a".repeat(10_000), "", ".", "-x", "a b", "a/b"])(
  "%j is no id from outside",
  (id) => {
    expect(runIdSchema.safeParse(id).success).toBe(false);
  },
);

test("ids that are made here are taken", () => {
  expect(runIdSchema.parse(newRunId(0, Math.random))).toMatch(/^19700101T000000Z-/);
  expect(runIdSchema.parse("20261127T000000Z-abc123.2")).toBe("20261127T000000Z-abc123.2");
});
