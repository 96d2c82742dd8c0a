// What the body of a 404 says about its sender.
import { expect, test } from "vitest";
import { isProse } from "../../../src/api/gone.ts";
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
  ['{"error":"no such company"}', false],
  ['"not found"', false],
  ["404 page not found", true],
  ["<html>", true],
  ["", false],
])("%j is text in place of JSON: %s", (body, text) => {
  expect(isProse(gone(body))).toBe(text);
});
