// What a refusal counts: requests per time, or requests in flight.
import { expect, test } from "vitest";
import { type RefusalCause, refusalCause } from "../../../../src/api/limits/quota-signs.ts";
import type { RateInfo, RefusedOutcome } from "../../../../src/api/outcome.ts";
import { said } from "../../../support/rate-info.ts";

const NOW = Date.UTC(2026, 0, 5, 10);
const refused = (excerpt: string, rate: RateInfo | null = null): RefusedOutcome => ({
  kind: "refused",
  call: { endpoint: "listAccounts", path: "/v1/accounts", query: {} },
  status: 429,
  sentAt: NOW,
  durationMs: 1,
  bytes: 1,
  rate,
  excerpt,
  usage: null,
});

test.each<[string, RateInfo | null, RefusalCause]>([
  ["Too many concurrent requests", null, "in-flight"],
  ['{"code":"max_in_flight"}', said({ retryAt: NOW + 1_000 }), "in-flight"],
  ["too many parallel requests", null, "in-flight"],
  ["rate limit exceeded", null, "rate"],
  ["60 requests per minute", null, "rate"],
  ["Too Many Requests", said({ remaining: 0 }), "rate"],
  ["Too Many Requests", said({ retryAt: NOW + 30_000 }), "rate"],
  ["Too Many Requests", said({ retryAt: NOW + 1_000 }), "unclear"],
  ["", null, "unclear"],
])("%j with %j: %s", (excerpt, rate, cause) => {
  expect(refusalCause(refused(excerpt, rate), NOW)).toBe(cause);
});
