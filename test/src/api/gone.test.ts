// What the body of a 404 says about its sender.
import { expect, test } from "vitest";
import { isProse, mayBeGateways } from "../../../src/api/gone.ts";
import type { RefusedOutcome } from "../../../src/api/outcome.ts";

const gone = (excerpt: string): RefusedOutcome => ({
  kind: "refused",
  call: { endpoint: "listFilings", path: "/v1/companies/c1/filings", query: {} },
  status: 404,
  sentAt: 0,
  durationMs: 1,
  bytes: 1,
  rate: null,
  excerpt,
  usage: null,
});

test.each([
  ['{"error":"no such company"}', false, false],
  ['"not found"', false, false],
  ["404 page not found", true, true],
  ["<html>", true, true],
  ["", false, true],
])("%j is text: %s, may be a gateway's: %s", (body, text, doubtful) => {
  expect([isProse(gone(body)), mayBeGateways(gone(body))]).toEqual([text, doubtful]);
});
