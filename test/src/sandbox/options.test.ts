// Options of a sandbox.
import { expect, test } from "vitest";
import { resolveOptions } from "../../../src/sandbox/options.ts";

test.each<[number | string, readonly [number, number]]>([
  [0, [0, 0]],
  ["800", [800, 800]],
  ["200-900", [200, 900]],
])("a latency of %s lies between %j", (latencyMs, bounds) => {
  expect(resolveOptions({ latencyMs }).latencyMs).toEqual(bounds);
});

test.each(["900-200", "-5", "1.5", "fast", "1-2-3"])("the latency %s is refused", (latencyMs) => {
  expect(() => resolveOptions({ latencyMs })).toThrow("latency must be milliseconds or min-max");
});

test("rate and credits are those of the plan unless set, and no credits are a choice", () => {
  const rates = (["free", "build", "scale", "pro"] as const).map((plan) => resolveOptions({ plan }).requestsPerMinute);
  expect(rates).toEqual([10, 60, 120, 300]);
  expect(resolveOptions({ plan: "free", requestsPerMinute: 7, credits: 0 })).toMatchObject({
    requestsPerMinute: 7,
    creditsPerMonth: 0,
  });
});

test.each([{ accounts: 0 }, { seed: -1 }, { credits: -1 }, { requestsPerMinute: 0 }, { maxPerPage: 0 }, { port: 1.5 }])(
  "%j is refused",
  (options) => {
    expect(() => resolveOptions(options)).toThrow("must be a whole number of at least");
  },
);

test("the data ends at the last midnight, so that a day's sandboxes are alike", () => {
  const clock = { now: () => Date.UTC(2026, 0, 2, 23, 59), sleep: async () => undefined };
  expect(resolveOptions({ clock }).now).toBe(Date.UTC(2026, 0, 2));
});
