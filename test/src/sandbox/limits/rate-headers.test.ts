// Rate-limit headers of the sandbox, in the dialects that services use.
import { expect, test } from "vitest";
import { type RateHeaderOptions, rateHeaders } from "../../../../src/sandbox/limits/rate-window.ts";

const NOW = Date.UTC(2026, 0, 1);
const reading = { allowed: true, limit: 60, remaining: 12, resetsAt: NOW + 1_500 };
const headers = (options: Partial<RateHeaderOptions>, more: Partial<typeof reading> = {}) =>
  rateHeaders({ ...reading, ...more }, NOW, { dialect: "none", reset: "delta", retryAfter: "seconds", ...options });

test("a reset is rounded up to whole seconds, so that nobody returns too early", () => {
  expect(headers({ dialect: "ratelimit" })).toEqual({
    "ratelimit-policy": '"default";q=60;w=60',
    ratelimit: '"default";r=12;t=2',
  });
  expect(headers({ dialect: "ratelimit-legacy" })).toMatchObject({
    "ratelimit-remaining": "12",
    "ratelimit-reset": "2",
    "ratelimit-policy": "60;w=60",
  });
  expect(headers({ dialect: "ratelimit-legacy" }, { resetsAt: NOW - 5_000 })["ratelimit-reset"]).toBe("0");
});

test.each([
  ["delta", "2"],
  ["epoch", String(NOW / 1000 + 2)],
  ["epoch-ms", String(NOW + 1_500)],
  ["date", "Thu, 01 Jan 2026 00:00:02 GMT"],
] as const)("x-ratelimit names its reset as %s", (reset, text) => {
  expect(headers({ dialect: "x-ratelimit", reset })["x-ratelimit-reset"]).toBe(text);
});

test("only a refusal says when to come back, after a second at least", () => {
  const refused = { allowed: false, resetsAt: NOW };
  expect(headers({})).toEqual({});
  expect(headers({}, refused)).toEqual({ "retry-after": "1" });
  expect(headers({}, { allowed: false })).toEqual({ "retry-after": "2" });
  expect(headers({ retryAfter: "date" }, refused)).toEqual({ "retry-after": "Thu, 01 Jan 2026 00:00:01 GMT" });
  expect(headers({ retryAfter: "none" }, refused)).toEqual({});
});
