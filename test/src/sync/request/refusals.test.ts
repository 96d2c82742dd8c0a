// A service that refuses every request ends a run after ten minutes; one that refuses for a while does not.
import { describe, expect, test } from "vitest";
import type { ApiOutcome, Verdict } from "../../../../src/api/outcome.ts";
import { createLoneRefusals, createRefusals, verdictAfter } from "../../../../src/sync/request/refusals.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { broken, refused } from "./outcomes.ts";

// What the question to the service's own route says about a 404.

const insight = { endpoint: "getAccountInsight", path: "/v1/account-insights", query: {} } as const;
const filings = { endpoint: "listFilings", path: "/v1/companies/c_1/filings", query: {} } as const;
const absent = refused(404, { call: filings });
const asked = (status: number) => refused(status, { call: insight });
const verdict = (outcome: ApiOutcome) => verdictAfter(absent, outcome);

test.each([400, 401, 402, 403, 422])("a service that answers %i knows its route, so the 404 is believed", (status) => {
  expect(verdict(asked(status))).toBeNull();
});

test.each([301, 308, 404, 405, 410])("where the route itself answers %i, the address is wrong", (status) => {
  expect(verdict(asked(status))).toMatchObject({
    kind: "fail",
    code: "ROUTE_NOT_FOUND",
    context: { endpoint: "GET /v1/companies/c_1/filings", detail: "status 404; nor was GET /v1/account-insights" },
  });
});

test("a page that is no answer of the service says so, too", () => {
  const page: ApiOutcome = { ...asked(200), kind: "invalid", detail: "HTML", wire: null };
  expect(verdict(page)).toMatchObject({ code: "ROUTE_NOT_FOUND" });
});

test("a fault decides nothing about the 404, and names the question", () => {
  expect(verdict(asked(503))).toMatchObject({
    code: "REQUEST_FAILED",
    context: { endpoint: "GET /v1/account-insights", detail: "status 503" },
  });
  expect(verdict(broken("dns", { call: insight, reached: "unsent", detail: "no such host" }))).toMatchObject({
    code: "SERVICE_UNREACHABLE",
    context: { detail: "no such host" },
  });
});

const MINUTE_MS = 60_000;
const REFUSED: FakeAnswer = { status: 429, headers: {}, body: "" };

const outcome = (status: number, sentAt: number) =>
  ({ kind: status === 200 ? "ok" : "refused", status, sentAt }) as ApiOutcome;
const wait = (untilMs: number): Verdict => ({ kind: "wait", untilMs, why: "rate" });

describe("refusals in a row", () => {
  /** Refused once a minute from the first minute on; `answeredAt`: minutes with an answer. Returns the minute of the end. */
  const endOf = (minutes: number, answeredAt: readonly number[] = []): number | null => {
    const refusals = createRefusals();
    for (let minute = 1; minute <= minutes; minute += 1) {
      const now = minute * MINUTE_MS;
      const answered = answeredAt.includes(minute);
      const verdict: Verdict = answered ? { kind: "use" } : wait(now + MINUTE_MS);
      if (refusals.note(outcome(answered ? 200 : 429, now), verdict, now)) return minute;
    }
    return null;
  };

  test("begin anew after any answer", () => {
    expect(endOf(20, [10])).toBeNull();
    expect(endOf(30, [10])).toBe(21);
  });

  test("that were sent together, or before the wait was over, count once", () => {
    const refusals = createRefusals();
    const hour = 60 * MINUTE_MS;
    const ends = Array.from({ length: 100 }, (_, at) => {
      const sentAt = at < 50 ? 0 : hour;
      return refusals.note(outcome(429, sentAt), wait(sentAt + hour), sentAt + at);
    });
    expect(ends).not.toContain(true);
  });

  test("do not count requests that no one answered", () => {
    const refusals = createRefusals();
    for (let minute = 1; minute < 60; minute += 1)
      expect(refusals.note(broken("reset"), { kind: "retry", waitMs: 0 }, minute * MINUTE_MS)).toBe(false);
  });
});

/** Syncs on a clock that only waiting moves. `isRefused`: by the number of the request and the time since the start, ms. */
const syncing = async (isRefused: (number: number, ms: number) => boolean, env = {}, refusal = REFUSED) => {
  const service = createFakeService(anOrganization(10), { maxPerPage: 10 });
  const clock = simulatedClock(0);
  service.answerWhere(({ number }) => isRefused(number, clock.now()), refusal);
  const { sync } = await startMemoryRig(service, env, clock);
  return { ...(await sync()), tookMs: clock.now() };
};

describe("a sync", () => {
  test("whose every request is refused ends after ten minutes and says so", async () => {
    const { error, report, tookMs } = await syncing((number) => number > 10);
    expect(error).toMatchObject({ code: "RATE_REFUSED", exitCode: 5 });
    expect(error?.message).toContain("429");
    expect(report.requests).toBeGreaterThan(10);
    expect(tookMs).toBeGreaterThanOrEqual(10 * MINUTE_MS);
    expect(tookMs).toBeLessThan(15 * MINUTE_MS);
  });

  test("that is refused for four minutes goes on, as fast as before although no answer repeats the refusals' headers", async () => {
    const headers = { "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30" };
    const four = (number: number, ms: number) => number > 10 && ms < 4 * MINUTE_MS;
    const { error, report, tookMs } = await syncing(four, { DUCKMIRROR_RATE_LIMIT: "60" }, { ...REFUSED, headers });
    expect(error).toBeNull();
    // One request a second; it was one in half a minute.
    expect(report.requests).toBeGreaterThan(60);
    expect(tookMs).toBeLessThan(4 * MINUTE_MS + 2_000 * report.requests);
  });

  test("does not slow down for one path that alone is refused for ever: that list fails within minutes, the others are read", async () => {
    const service = createFakeService(anOrganization(40));
    const clock = simulatedClock(0);
    const path = "/v1/companies/c_2/filings";
    service.answerWhere(path, { ...REFUSED, headers: { "retry-after": "1" } });
    const { sync } = await startMemoryRig(service, { DUCKMIRROR_RATE_LIMIT: "60" }, clock);
    const { sent, report, tookMs } = { ...(await sync()), tookMs: clock.now() };
    expect(report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream)).toEqual(["filings"]);
    expect(tookMs).toBeLessThan(MINUTE_MS * (3 + report.requests / 60));
    const refusals = sent.filter((request) => request.path === path).length;
    expect(refusals).toBeGreaterThan(3);
    expect(refusals).toBeLessThan(12);
  });

  test("is refused by the key's limit if any other path is refused, or none is answered between", () => {
    const lone = createLoneRefusals();
    const note = (path: string, second: number) => lone.note(path, second * 1_000);
    expect([note("a", 0), note("a", 1), note("a", 300)]).toEqual(["key", "key", "key"]);
    const between = (second: number) => {
      lone.noteUse("b");
      return note("a", second);
    };
    expect([between(301), between(302), note("a", 303)]).toEqual(["key", "over", "over"]);
    expect([note("b", 304), between(305), between(306), between(307), between(500)]).toEqual([
      ...["key", "key", "key", "own", "over"],
    ]);
    lone.noteUse("a");
    expect(between(600)).toBe("key");
  });
});
