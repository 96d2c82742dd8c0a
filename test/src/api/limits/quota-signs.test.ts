// Signs that a refusal is about credits, about speed, or about requests in flight.
import { describe, expect, test } from "vitest";
import {
  isEndless,
  isQuotaRefusal,
  openAgainAt,
  type RefusalCause,
  refusalCause,
} from "../../../../src/api/limits/quota-signs.ts";
import type { RateInfo } from "../../../../src/api/outcome.ts";
import { said } from "../../../support/rate-info.ts";
import { broken, refused as refusedWith } from "../../sync/request/outcomes.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const refused = (excerpt: string, rate: Partial<RateInfo> | null = null, remaining?: number) =>
  refusedWith(429, {
    excerpt,
    rate: rate === null ? null : said(rate),
    usage: remaining === undefined ? null : { limit: 100, used: null, remaining, resetsAt: null },
  });

describe("a refusal is about credits", () => {
  test.each([
    "You are out of credits",
    "Insufficient API credits",
    "credits for this month are used up",
    "monthly limit reached",
    "1000 requests per day",
    "Quota exceeded",
    '{"code":"quota_exceeded"}',
    '{"error":"insufficient_credits"}',
    "OutOfCredits",
  ])("by its words: %s", (text) => {
    expect(isQuotaRefusal(refused(text), null, NOW)).toBe(true);
  });

  test("if none are left, in its own report or the last one", () => {
    expect(isQuotaRefusal(refused("slow down", null, 0), 9, NOW)).toBe(true);
    expect(isQuotaRefusal(refused("slow down"), 0, NOW)).toBe(true);
    // Its own report is newer.
    expect(isQuotaRefusal(refused("slow down", null, 9), 0, NOW)).toBe(false);
  });

  test("if it asks for more than an hour", () => {
    expect(isQuotaRefusal(refused("", { retryAt: NOW + HOUR + 1 }), null, NOW)).toBe(true);
    expect(isQuotaRefusal(refused("", { retryAt: NOW + HOUR }), null, NOW)).toBe(false);
  });
});

test("a refusal for a month or more is about neither, unless its words say so", () => {
  const far = refused("", { retryAt: NOW + 31 * 24 * HOUR });
  expect([isQuotaRefusal(far, null, NOW + 50), isEndless(far, NOW + 50)]).toEqual([false, true]);
  expect(isQuotaRefusal({ ...far, excerpt: "out of credits" }, null, NOW)).toBe(true);
  expect(isQuotaRefusal(far, 0, NOW)).toBe(true);
  const month = refused("", { retryAt: NOW + 30.9 * 24 * HOUR });
  expect([isQuotaRefusal(month, null, NOW), isEndless(month, NOW)]).toEqual([true, false]);
});

test.each([
  "quota of 60 requests per minute exceeded",
  "Too many requests",
  "rate limit: 10 calls/s",
  "credits remain: 100",
  '{"code":"rate_limit_exceeded"}',
])("a refusal is about speed by its words: %s", (text) => {
  expect(isQuotaRefusal(refused(text), null, NOW)).toBe(false);
});

describe("a 403", () => {
  const forbidden = (text: string, remaining?: number) => ({ ...refused(text, null, remaining), status: 403 });

  test.each(["Credit limit exceeded. Upgrade your plan.", '{"code":"QUOTA_EXCEEDED"}', "You have no credits left"])(
    "is about credits by its words: %s",
    (text) => {
      expect(isQuotaRefusal(forbidden(text), 0, NOW)).toBe(true);
    },
  );

  test("is about credits if it reports none", () => {
    expect(isQuotaRefusal(forbidden("no", 0), 0, NOW)).toBe(true);
    expect(isQuotaRefusal(forbidden("no", 5), 0, NOW)).toBe(false);
  });

  test.each([
    "Your monthly plan does not include this route",
    "Forbidden",
    '{"error":"forbidden","quota":{"limit":100,"remaining":4}}',
    "This token has no access to filings",
  ])("is about rights in all other cases: %s", (text) => {
    expect(isQuotaRefusal(forbidden(text), 0, NOW)).toBe(false);
  });
});

test("what is no refusal is none about credits, whatever is left", () => {
  expect(isQuotaRefusal(broken("reset", { detail: "out of credits" }), 0, NOW)).toBe(false);
});

test("requests are accepted again when the headers say so, or when nothing is left until a reset", () => {
  expect(openAgainAt(refused("", { retryAt: 5, remaining: 0, resetsAt: 9 }))).toBe(5);
  expect(openAgainAt(refused("", { remaining: 0, resetsAt: 9 }))).toBe(9);
  expect(openAgainAt(refused("", { remaining: 1, resetsAt: 9 }))).toBeNull();
  expect(openAgainAt(refused(""))).toBeNull();
});

// What a refusal counts: requests per time, or requests in flight.

test.each<[string, Partial<RateInfo> | null, RefusalCause]>([
  ["Too many concurrent requests", null, "in-flight"],
  ['{"code":"max_in_flight"}', { retryAt: NOW + 1_000 }, "in-flight"],
  ["too many parallel requests", null, "in-flight"],
  ["rate limit exceeded", null, "rate"],
  ["60 requests per minute", null, "rate"],
  ["Too Many Requests", { remaining: 0 }, "rate"],
  ["Too Many Requests", { retryAt: NOW + 30_000 }, "rate"],
  ["Too Many Requests", { retryAt: NOW + 1_000 }, "unclear"],
  ["", null, "unclear"],
])("%j with %j: %s", (excerpt, rate, cause) => {
  expect(refusalCause(refused(excerpt, rate), NOW)).toBe(cause);
});
