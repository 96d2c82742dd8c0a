// The sliding window of the sandbox's rate limit.
import { expect, test } from "vitest";
import { createRateWindow, WINDOW_MS } from "../../../../src/sandbox/limits/rate-window.ts";

test("a request fits as soon as the oldest has left the window, and not a millisecond earlier", () => {
  const window = createRateWindow(2);
  expect(window.take(0)).toEqual({ allowed: true, limit: 2, remaining: 1, resetsAt: WINDOW_MS });
  expect(window.take(1000)).toMatchObject({ allowed: true, remaining: 0, resetsAt: WINDOW_MS });
  expect(window.take(WINDOW_MS - 1)).toMatchObject({ allowed: false, remaining: 0, resetsAt: WINDOW_MS });
  expect(window.take(WINDOW_MS)).toMatchObject({ allowed: true, remaining: 0, resetsAt: 1000 + WINDOW_MS });
});

test("a refused request takes no place", () => {
  const window = createRateWindow(1);
  window.take(0);
  for (let at = 1; at < 50; at++) window.take(at);
  expect(window.take(WINDOW_MS).allowed).toBe(true);
});

test("the limit holds in any minute of a long run, also after old requests were dropped", () => {
  const window = createRateWindow(10);
  const taken = Array.from({ length: 30_000 }, (_, nth) => nth * 3_000).filter((at) => window.take(at).allowed);
  expect(taken.length).toBeGreaterThan(12_000);
  expect(taken.every((at, nth) => at - (taken[nth - 10] ?? -WINDOW_MS) >= WINDOW_MS)).toBe(true);
});
