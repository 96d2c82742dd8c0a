// A request and its failure in words for messages.
import { expect, test } from "vitest";
import type { ApiOutcome, RefusedOutcome } from "../../../src/api/outcome.ts";
import { causeOf, endpointOf } from "../../../src/api/outcome.ts";

const aRefusal = (excerpt: string, page?: string): RefusedOutcome => ({
  kind: "refused",
  call: { endpoint: "listFilings", path: "/v1/companies/c_1/filings", query: page === undefined ? {} : { page } },
  status: 400,
  sentAt: 1,
  durationMs: 1,
  bytes: 1,
  rate: null,
  excerpt,
  usage: null,
});

test("a request is named by its stream, its route with ids, and its page", () => {
  expect(endpointOf(aRefusal(""), undefined)).toBe("GET /v1/companies/c_1/filings");
  expect(endpointOf(aRefusal("", "2"), "filings")).toBe("filings (GET /v1/companies/c_1/filings, page 2)");
});

test.each([
  ["", "status 400"],
  ["no such filter", "status 400, no such filter"],
  ["<html><TITLE lang=en> Bad gateway </TITLE>", 'status 400, a page titled "Bad gateway"'],
  ["<html>", "status 400, a page of HTML"],
  ["x".repeat(301), `status 400, ${"x".repeat(300)}…`],
])("the cause of a refusal with the body %j", (excerpt, cause) => {
  expect(causeOf(aRefusal(excerpt))).toBe(cause);
});

test("a broken answer is named by what broke", () => {
  const { call, sentAt, durationMs } = aRefusal("");
  const broken: ApiOutcome = {
    kind: "broken",
    call,
    sentAt,
    durationMs,
    reached: "unknown",
    status: null,
    reason: "reset",
    detail: "the connection was closed",
  };
  expect(causeOf(broken)).toBe("the connection was closed");
});
