// Ids of runs sort by time.
import { expect, test } from "vitest";
import { newRunId } from "../../../../src/core/text/run-id.ts";

test("an id is its time in UTC and a random part of six characters", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  expect(newRunId(at, () => 0)).toBe("20260102T030405Z-000000");
  expect(newRunId(at, () => 1 - 2 ** -53)).toBe("20260102T030405Z-zzzzzz");
  expect(newRunId(at, () => 0.5) < newRunId(at + 1_000, () => 0)).toBe(true);
});
