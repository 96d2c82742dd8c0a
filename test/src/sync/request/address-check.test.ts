// What the question to the service's own route says about a 404.
import { expect, test } from "vitest";
import type { ApiOutcome, BrokenOutcome, RefusedOutcome } from "../../../../src/api/outcome.ts";
import { verdictAfter } from "../../../../src/sync/request/address-check.ts";

const refused = (status: number, path = "/v1/account-insights"): RefusedOutcome => ({
  kind: "refused",
  call: { endpoint: "getAccountInsight", path, query: {} },
  status,
  ...{ sentAt: 0, durationMs: 1, bytes: 0, rate: null, excerpt: "", usage: null },
});
const absent: RefusedOutcome = {
  ...refused(404),
  call: { endpoint: "listFilings", path: "/v1/companies/c_1/filings", query: {} },
};
const { call } = refused(404);
const broken: BrokenOutcome = {
  ...{
    kind: "broken",
    call,
    sentAt: 0,
    durationMs: 1,
    reached: "unsent",
    status: null,
    reason: "dns",
    detail: "no such host",
  },
};
const verdict = (outcome: ApiOutcome) => verdictAfter(absent, outcome);

test.each([400, 401, 402, 403, 422])("a service that answers %i knows its route, so the 404 is believed", (status) => {
  expect(verdict(refused(status))).toBeNull();
});

test.each([301, 308, 404, 405, 410])("where the route itself answers %i, the address is wrong", (status) => {
  expect(verdict(refused(status))).toMatchObject({
    kind: "fail",
    code: "ROUTE_NOT_FOUND",
    context: { endpoint: "GET /v1/companies/c_1/filings", detail: "status 404; nor was GET /v1/account-insights" },
  });
});

test("a page that is no answer of the service says so, too", () => {
  const page: ApiOutcome = { ...refused(200), kind: "invalid", detail: "HTML", wire: null };
  expect(verdict(page)).toMatchObject({ code: "ROUTE_NOT_FOUND" });
});

test("a fault decides nothing about the 404, and names the question", () => {
  expect(verdict(refused(503))).toMatchObject({
    code: "REQUEST_FAILED",
    context: { endpoint: "GET /v1/account-insights", detail: "status 503" },
  });
  expect(verdict(broken)).toMatchObject({ code: "SERVICE_UNREACHABLE", context: { detail: "no such host" } });
});
