// The machine's clock, moved by a test.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("forty days are forty days, though timers hold less than 25", async () => {
  const day = 86_400_000;
  let over = false;
  const slept = systemClock.sleep(40 * day).then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(40 * day - 1);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await slept;
});
