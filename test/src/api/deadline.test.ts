import { afterEach, expect, test, vi } from "vitest";
import { withDeadline } from "../../../src/api/client.ts";

afterEach(() => {
  vi.useRealTimers();
});

const HOUR = 3_600_000;

test.each([
  ["an hour", HOUR],
  ["thirty days, more than a timer of Node takes", 30 * 24 * HOUR],
])("a deadline of %s has not passed a moment before the hour is over", (_, ms) => {
  vi.useFakeTimers();
  const deadline = withDeadline(undefined, ms);
  vi.advanceTimersByTime(HOUR - 1);
  expect([deadline.expired(), deadline.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([deadline.expired(), deadline.signal.aborted]).toEqual([ms === HOUR, ms === HOUR]);
  deadline.release();
});

test("the caller's end is no expiry, and a released deadline never passes", () => {
  vi.useFakeTimers();
  const caller = new AbortController();
  const ended = withDeadline(caller.signal, HOUR);
  caller.abort();
  expect([ended.aborted(), ended.expired(), ended.signal.aborted]).toEqual([true, false, true]);
  const released = withDeadline(undefined, HOUR);
  released.release();
  vi.advanceTimersByTime(2 * HOUR);
  expect([released.expired(), released.signal.aborted]).toEqual([false, false]);
});
