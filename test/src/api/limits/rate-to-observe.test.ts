// Which rate information of a response the limiter uses.
import { expect, test } from "vitest";
import type { ApiOutcome, RefusedOutcome } from "../../../../src/api/outcome.ts";
import { rateToObserve } from "../../../../src/api/retry-policy.ts";
import { said } from "../../../support/rate-info.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const refused = (retryAt: number | null): RefusedOutcome => ({
  kind: "refused",
  call: { endpoint: "listSignals", path: "/v1/signals", query: {} },
  status: 429,
  sentAt: NOW,
  durationMs: 1,
  bytes: 1,
  rate: said({ limit: 10, retryAt }),
  excerpt: "",
  usage: null,
});
const retryAt = (outcome: ApiOutcome, verdict: Parameters<typeof rateToObserve>[1]) =>
  rateToObserve(outcome, verdict, NOW)?.retryAt;

test("a refusal that is waited for keeps its Retry-After; one that fails a request does not hold up the others", () => {
  expect(retryAt(refused(NOW + HOUR), { kind: "wait", untilMs: NOW, why: "rate" })).toBe(NOW + HOUR);
  expect(retryAt(refused(NOW + HOUR), { kind: "retry", waitMs: 1 })).toBeNull();
  expect(rateToObserve(refused(NOW + HOUR), { kind: "retry", waitMs: 1 }, NOW)?.limit).toBe(10);
});

test("a refusal that ends the run says nothing, nor does one without figures", () => {
  expect(rateToObserve(refused(NOW), { kind: "stop", code: "QUOTA_SPENT", context: {} }, NOW)).toBeNull();
  expect(rateToObserve({ ...refused(NOW), rate: null }, { kind: "use" }, NOW)).toBeNull();
});
