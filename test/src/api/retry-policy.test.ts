// The table of verdicts: one case per row, then what must hold for any outcome whatever. Shows P22.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiOutcome, BrokenOutcome, Quota, RefusedOutcome, VerdictContext } from "../../../src/api/outcome.ts";
import { backoffMs, chargeOf, rateToObserve, rowFor, VERDICT_ROWS, verdictOf } from "../../../src/api/retry-policy.ts";
import { ENDPOINTS, type EndpointName } from "../../../src/catalog/endpoints.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { said } from "../../support/rate-info.ts";
import * as outcomes from "../sync/request/outcomes.ts";

const NOW = Date.UTC(2026, 0, 5, 10);
const HOUR = 3_600_000;
const context = (more: Partial<VerdictContext> = {}): VerdictContext => ({
  attempt: 1,
  random: 0.5,
  now: NOW,
  remainingCredits: null,
  ...more,
});
const callOf = (endpoint: EndpointName) => ({ endpoint, path: ENDPOINTS[endpoint].path, query: {} });
const quotaOf = (more: Partial<Quota>): Quota => ({
  limit: null,
  used: null,
  remaining: null,
  resetsAt: null,
  ...more,
});

const refused = (
  status: number,
  { endpoint = "listAccounts", ...more }: Partial<RefusedOutcome> & { endpoint?: EndpointName } = {},
): RefusedOutcome => outcomes.refused(status, { call: callOf(endpoint), ...more });
/** A redirect of a company's list within the service. */
const moved = (movedTo: string, status = 301): ApiOutcome => {
  const outcome = refused(status, { endpoint: "listFilings", excerpt: `redirect to ${movedTo}` });
  return { ...outcome, movedTo, call: { ...outcome.call, path: "/v1/companies/c_1/filings" } };
};
/** The refusal of one account's insight, which is named in the query and not in the path. */
const insightRefused = (status: number): ApiOutcome => {
  const outcome = refused(status, { endpoint: "getAccountInsight" });
  return { ...outcome, call: { ...outcome.call, query: { accountId: "7" } } };
};
const { ok } = outcomes;
const answered = { call: callOf("listAccounts"), status: 200, sentAt: 0, durationMs: 1, bytes: 10, rate: null };
const invalid: ApiOutcome = { kind: "invalid", ...answered, detail: "the body is empty", wire: null };
const broken = ({ reason = "reset", ...more }: Partial<BrokenOutcome>): ApiOutcome =>
  outcomes.broken(reason, { call: callOf("listAccounts"), detail: "other side closed", ...more });

/** One example for each row, under the row's own words. */
const CASES: Readonly<Record<string, readonly (readonly [ApiOutcome, object, Partial<VerdictContext>?])[]>> = {
  "200 with an envelope": [[ok, { kind: "use" }]],
  "200 without an envelope": [
    [invalid, { kind: "retry", waitMs: 500 }],
    [invalid, { kind: "retry", waitMs: 1_000 }, { attempt: 2 }],
    [invalid, { kind: "fail", code: "RESPONSE_INVALID" }, { attempt: 3 }],
  ],
  "402, 403 to a request that names heavy fields": [
    [refused(403), { kind: "adjust" }, { namesContent: true }],
    [refused(402), { kind: "adjust" }, { namesContent: true }],
  ],
  "402, or 403 or 429 with no credits left": [
    [refused(402), { kind: "stop", code: "QUOTA_SPENT" }],
    [refused(402), { kind: "stop", code: "QUOTA_SPENT" }, { remainingCredits: 5_000 }],
    [
      refused(402, { usage: quotaOf({ remaining: 0, resetsAt: NOW }) }),
      { kind: "stop", code: "QUOTA_SPENT" },
      { remainingCredits: 5_000 },
    ],
    [refused(403, { excerpt: '{"error":"credit limit exceeded"}' }), { kind: "stop", code: "QUOTA_SPENT" }],
    [
      refused(429, { usage: quotaOf({ remaining: 0, resetsAt: NOW }) }),
      { code: "QUOTA_SPENT", context: { until: / until 2026/ } },
    ],
    [refused(429), { kind: "stop", code: "QUOTA_SPENT" }, { remainingCredits: 0 }],
    [refused(429, { excerpt: "Monthly credits exhausted" }), { code: "QUOTA_SPENT" }, { remainingCredits: 4 }],
    // Where nobody reports the credits, so long a wait is that for more of them.
    [refused(429, { rate: said({ retryAt: NOW + 5 * HOUR }) }), { code: "QUOTA_SPENT" }],
    // The end of a rate's window is not that of the credits.
    [
      refused(402, { rate: said({ remaining: 0, resetsAt: NOW + 1_000 }) }),
      { code: "QUOTA_SPENT", context: { until: ` until ${new Date(NOW + 5 * HOUR).toISOString()}` } },
      { creditsResetAt: NOW + 5 * HOUR },
    ],
    [
      refused(402, { rate: said({ remaining: 0, resetsAt: NOW + 1_000 }) }),
      { code: "QUOTA_SPENT", context: { until: "" } },
    ],
  ],
  "429 with a Retry-After of more than an hour, while credits are left": [
    [
      refused(429, { rate: said({ retryAt: NOW + 5 * HOUR }) }),
      { kind: "fail", code: "RATE_REFUSED", context: { how: ` until ${new Date(NOW + 5 * HOUR).toISOString()}` } },
      { remainingCredits: 4 },
    ],
  ],
  "429 with a Retry-After of a month or more": [
    [
      refused(429, { rate: said({ retryAt: NOW + 31 * 24 * HOUR }) }),
      { kind: "stop", code: "RATE_REFUSED", context: { how: /wait for a month or more/ } },
      { remainingCredits: 4 },
    ],
  ],
  "headers larger than 16 KiB": [
    [broken({ reason: "headers", reached: "unknown" }), { kind: "fail", code: "REQUEST_FAILED" }],
  ],
  "an answer against the rules of HTTP, e.g. with two lengths": [
    [broken({ reason: "form", reached: "unknown" }), { kind: "retry" }, { attempt: 2 }],
    [broken({ reason: "form", reached: "unknown" }), { kind: "fail", code: "SERVICE_UNREACHABLE" }, { attempt: 3 }],
  ],
  "403 with a Retry-After within the hour": [
    [refused(403, { rate: said({ retryAt: NOW + 30_000 }) }), { kind: "wait", untilMs: NOW + 30_000 }],
  ],
  "403 in a sync": [
    [refused(403), { kind: "fail", code: "ROUTE_FORBIDDEN", context: { status: 403 } }, { routesDiffer: true }],
  ],
  "401, 403": [
    [refused(401), { kind: "stop", code: "CREDENTIALS_REFUSED", context: { status: 401 } }],
    [refused(403), { kind: "stop", code: "CREDENTIALS_REFUSED" }],
    [refused(401), { kind: "stop", code: "CREDENTIALS_REFUSED" }, { namesContent: true }],
  ],
  "429": [
    [
      refused(429, { rate: said({ retryAt: NOW + 7_000, resetsAt: NOW + 9_000 }) }),
      { kind: "wait", untilMs: NOW + 7_000 },
    ],
    [refused(429, { rate: said({ remaining: 0, resetsAt: NOW + 9_000 }) }), { kind: "wait", untilMs: NOW + 9_000 }],
    [refused(429), { kind: "wait", untilMs: NOW + 1_500, why: "rate" }],
    // The service named a second before, and refused the request again.
    [refused(429, { rate: said({ retryAt: NOW + 1_000 }) }), { kind: "wait", untilMs: NOW + 6_000 }, { attempt: 4 }],
    [refused(429, { rate: said({ retryAt: NOW + 9_000 }) }), { kind: "wait", untilMs: NOW + 9_000 }, { attempt: 4 }],
    [refused(429, { excerpt: "Quota of 60 requests per minute exceeded" }), { kind: "wait" }, { remainingCredits: 4 }],
    [refused(429), { kind: "fail", code: "REQUEST_FAILED" }, { attempt: 15 }],
  ],
  "503 with a Retry-After within the hour": [
    [refused(503, { rate: said({ retryAt: NOW + 30_000 }) }), { kind: "wait", untilMs: NOW + 30_000 }],
  ],
  "404, 410 where the path names a record or company; 301, 308 that name another one": [
    [refused(404, { endpoint: "getAccount" }), { kind: "absent" }],
    [refused(404, { endpoint: "listFilings" }), { kind: "absent" }],
    [refused(410, { endpoint: "resolveCompany" }), { kind: "absent" }],
    [refused(404, { endpoint: "listFilings", excerpt: '{"error":"no such company"}' }), { kind: "absent" }],
    [refused(404, { endpoint: "listFilings", excerpt: '"not found"' }), { kind: "absent" }],
    [refused(404, { endpoint: "listFilings", excerpt: "404 page not found" }), { kind: "retry" }],
    [refused(404, { endpoint: "listFilings", excerpt: "<html>" }), { kind: "retry" }, { attempt: 2 }],
    [refused(404, { endpoint: "listFilings", excerpt: "<html>" }), { kind: "absent" }, { attempt: 3 }],
    [refused(404, { endpoint: "listFilings", excerpt: "<html>" }), { kind: "absent" }, { maxAttempts: 1 }],
    [moved("/base/v1/companies/c_2/filings"), { kind: "absent" }],
    [moved("/v1/companies/c_2"), { kind: "absent" }],
  ],
  "400, 422": [
    [refused(400, { excerpt: "perPage too large" }), { kind: "adjust", detail: "status 400, perPage too large" }],
    [refused(422), { kind: "adjust" }],
  ],
  "408, 425, 5xx": [
    [refused(500), { kind: "retry", waitMs: 500 }],
    [refused(408), { kind: "retry", waitMs: 2_000 }, { attempt: 3 }],
    [refused(502), { kind: "fail", code: "REQUEST_FAILED" }, { attempt: 6 }],
    [refused(503, { rate: said({ retryAt: NOW + 5 * HOUR }) }), { kind: "retry" }],
    [refused(599), { kind: "fail" }, { attempt: 2, maxAttempts: 2 }],
  ],
  "301, 302, 303, 307, 308": [
    [
      refused(302, { excerpt: "redirect to https://login.example" }),
      { kind: "fail", code: "REDIRECTED", context: { detail: /login\.example/ } },
    ],
    [refused(308), { kind: "fail", code: "REDIRECTED" }],
    // Another address of the same company, a page of a gateway, and an answer for the moment.
    [moved("/v2/v1/companies/c_1/filings/"), { kind: "fail", code: "REDIRECTED" }],
    [moved("/login"), { kind: "fail", code: "REDIRECTED" }],
    [moved("/v1/companies/c_2", 302), { kind: "fail", code: "REDIRECTED" }],
  ],
  "any other status": [
    [refused(404), { kind: "fail", code: "ROUTE_NOT_FOUND" }],
    [refused(404), { kind: "fail", code: "ROUTE_MISSING" }, { serviceAnswers: true }],
    [refused(304), { kind: "fail", code: "REQUEST_FAILED" }],
    [insightRefused(404), { kind: "fail", code: "REQUEST_FAILED" }],
    [refused(204), { kind: "fail", code: "REQUEST_FAILED" }],
  ],
  "a request that was aborted before it left": [
    [broken({ reason: "aborted", reached: "unsent" }), { kind: "stop", code: "INTERRUPTED" }],
  ],
  "a request that was aborted within the body of a 200": [
    [broken({ reason: "aborted", status: 200 }), { kind: "stop", code: "INTERRUPTED" }],
  ],
  "a request that was aborted before any answer": [
    [broken({ reason: "aborted" }), { kind: "stop", code: "INTERRUPTED" }],
  ],
  "a body larger than max_body_bytes": [
    [
      broken({ reason: "too_large", status: 200, limitBytes: 99 }),
      { kind: "fail", code: "RESPONSE_TOO_LARGE", context: { limit: 99, endpoint: "GET /v1/accounts" } },
    ],
  ],
  "a certificate that this machine does not trust": [
    [
      broken({ reached: "unsent", reason: "certificate", detail: "self-signed certificate" }),
      {
        kind: "stop",
        code: "CERTIFICATE_REFUSED",
        context: { endpoint: "GET /v1/accounts", detail: "self-signed certificate" },
      },
    ],
  ],
  "no connection: DNS, TCP, TLS or proxy": [
    [broken({ reached: "unsent", reason: "dns" }), { kind: "retry", waitMs: 500 }],
    [broken({ reached: "unsent", reason: "connect" }), { kind: "fail", code: "SERVICE_UNREACHABLE" }, { attempt: 6 }],
    [broken({ reached: "unsent", reason: "connect", call: callOf("sendFeedback") }), { kind: "retry" }],
  ],
  "200 whose body broke off or cannot be unpacked": [
    [broken({ status: 200, reason: "encoding" }), { kind: "retry" }, { attempt: 2 }],
    [broken({ status: 200 }), { kind: "fail", code: "REQUEST_FAILED" }, { attempt: 3 }],
  ],
  "a connection that ended, or a time limit, before any answer": [
    [broken({}), { kind: "retry", waitMs: 500 }],
    [broken({ reason: "timeout" }), { kind: "fail", code: "SERVICE_UNREACHABLE" }, { attempt: 6 }],
    [broken({ call: callOf("sendFeedback") }), { kind: "fail", code: "SERVICE_UNREACHABLE" }],
  ],
};

const matcher = (value: unknown): unknown => {
  if (value instanceof RegExp) return expect.stringMatching(value);
  if (typeof value !== "object" || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([name, part]) => [name, matcher(part)])),
  );
};

describe("each row of the table", () => {
  test.each(VERDICT_ROWS.map((row) => [row.when, row] as const))("%s", (when, row) => {
    const cases = CASES[when] ?? [];
    expect(cases.length).toBeGreaterThan(0);
    for (const [outcome, expected, more] of cases) {
      expect(rowFor(outcome, context(more))?.when).toBe(when);
      expect(verdictOf(outcome, context(more))).toEqual(matcher(expected));
      expect(chargeOf(outcome)).toBe(row.credit);
    }
  });
});

describe("a message", () => {
  const page = (outcome: ApiOutcome): ApiOutcome => ({
    ...outcome,
    call: { endpoint: "listFilings", path: "/v1/companies/c_12/filings", query: { page: "3", perPage: "50" } },
  });
  const messageOf = (outcome: ApiOutcome) => {
    const verdict = verdictOf(page(outcome), context({ attempt: 20, stream: "filings" }));
    if (verdict.kind !== "fail" && verdict.kind !== "stop") throw new Error(`${verdict.kind} has no message`);
    const { message, hint } = new DuckmirrorError(verdict.code, verdict.context);
    expect(hint).toMatch(/^[A-Z`].*[.]$/);
    return message;
  };

  test.each<[string, ApiOutcome, RegExp]>([
    [
      "502",
      refused(502, { excerpt: "<html><head><title>502 Bad Gateway</title>" }),
      /status 502, a page titled "502 Bad/,
    ],
    ["503", refused(503, { excerpt: "<hr>" }), /status 503, a page of HTML/],
    ["409", refused(409, { excerpt: '{"error":"no"}' }), /status 409, \{"error":"no"\}/],
    ["500 with a long body", refused(500, { excerpt: "x".repeat(2_000) }), /status 500, x{300}…$/],
    ["redirect", refused(302, { excerpt: "redirect to https://login.example" }), /status 302, redirect to https/],
    ["no envelope", invalid, /the body is empty/],
    ["broken off", broken({ status: 200 }), /other side closed/],
    ["DNS", broken({ reached: "unsent", reason: "dns", detail: "getaddrinfo ENOTFOUND x" }), /ENOTFOUND/],
    ["silence", broken({ reason: "timeout", detail: "no complete answer within 5 ms" }), /within 5 ms/],
    ["too large", broken({ reason: "too_large", status: 200, limitBytes: 99 }), /more than 99 bytes/],
    ["credentials", refused(401), /\(401 on/],
  ])("of %s names stream, route, page and cause", (_, outcome, cause) => {
    const message = messageOf(outcome);
    expect(message).toContain("filings (GET /v1/companies/c_12/filings, page 3)");
    expect(message).toMatch(cause);
  });

  test("without a stream or page names the route", () => {
    const verdict = verdictOf(refused(409), context());
    expect(verdict).toMatchObject({ context: { endpoint: "GET /v1/accounts" } });
  });
});

describe("any outcome", () => {
  const anyOutcome = fc.oneof(
    fc.constant(ok),
    fc.constant(invalid),
    fc
      .record({
        status: fc.integer({ min: 201, max: 599 }),
        endpoint: fc.constantFrom<EndpointName>("listAccounts", "getAccount", "listFilings", "sendFeedback"),
        retryIn: fc.option(fc.integer({ min: 0, max: 10 * HOUR })),
        excerpt: fc.string(),
        remaining: fc.option(fc.integer({ min: 0, max: 100 })),
      })
      .map(({ status, endpoint, retryIn, excerpt, remaining }) => {
        const rate = said({ retryAt: retryIn === null ? null : NOW + retryIn });
        return refused(status, { endpoint, excerpt, rate, usage: remaining === null ? null : quotaOf({ remaining }) });
      }),
    // Only what a client can say: nothing unsent has a status, only the body of a 200 can be too large.
    fc
      .constantFrom<Partial<BrokenOutcome>>(
        ...(["dns", "connect", "aborted"] as const).map((reason) => ({ reached: "unsent", reason }) as const),
        ...(["timeout", "reset", "aborted"] as const).flatMap((reason) => [{ reason }, { reason, status: 200 }]),
        { reason: "too_large", status: 200, limitBytes: 9 },
        { reason: "encoding", status: 200 },
      )
      .map(broken),
  );

  test("ends within 15 attempts, never waits into the past and never more than an hour", () => {
    const contexts = fc.record({
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
      attempt: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(anyOutcome, contexts, (outcome, more) => {
        const verdict = verdictOf(outcome, context(more));
        expect(rowFor(outcome, context(more))?.credit).toBe(chargeOf(outcome));
        if (verdict.kind === "wait") expect(verdict.untilMs >= NOW && verdict.untilMs <= NOW + HOUR).toBe(true);
        if (verdict.kind === "retry") expect(verdict.waitMs >= 0 && verdict.waitMs <= 60_000).toBe(true);
        if (more.attempt >= 15) expect(["wait", "retry"]).not.toContain(verdict.kind);
        if (verdict.kind === "fail" || verdict.kind === "stop") {
          const error = new DuckmirrorError(verdict.code, verdict.context);
          expect(error.code).not.toBe("UNEXPECTED");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("growing waits are random within 1, 2, 4 ... 60 seconds", () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 40].map((attempt) => backoffMs(attempt, 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
    expect(backoffMs(5, 0)).toBe(0);
  });
});

describe("of a response's rate the limiter uses", () => {
  const late = refused(429, { rate: said({ limit: 10, retryAt: NOW + HOUR }) });

  test("the Retry-After of a refusal that is waited for, not of one that fails: it does not hold up the others", () => {
    expect(rateToObserve(late, { kind: "wait", untilMs: NOW, why: "rate" }, NOW)).toEqual(late.rate);
    expect(rateToObserve(late, { kind: "retry", waitMs: 1 }, NOW)).toEqual(said({ limit: 10 }));
  });

  test("nothing of a refusal that ends the run, nor of one without figures", () => {
    expect(rateToObserve(late, { kind: "stop", code: "QUOTA_SPENT", context: {} }, NOW)).toBeNull();
    expect(rateToObserve({ ...late, rate: null }, { kind: "use" }, NOW)).toBeNull();
  });
});
