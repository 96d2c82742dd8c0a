// Ledger rows: what is written of each attempt, answered or not.
import { expect, test } from "vitest";
import type { ApiOutcome } from "../../../../src/api/outcome.ts";
import { creditsOf, orderedRow, paidRow, requestRow, unansweredRow } from "../../../../src/sync/request/ledger-rows.ts";

const call = { endpoint: "listSignals", path: "/v1/signals", query: { page: "2", perPage: "5" } } as const;
const order = { runId: "r", stream: "signals", scope: "", call, work: "walk" } as const;
const exchange = { call, sentAt: 1000, durationMs: 7, rate: null, bytes: 90 };
const NO_PAGE = { page: null, perPage: null, totalCount: null, totalPages: null };
const ok: ApiOutcome = {
  kind: "ok",
  ...exchange,
  status: 200,
  data: [{ id: 1 }, { id: 2 }],
  included: null,
  page: NO_PAGE,
  usage: null,
  timestamp: null,
  envelope: { data: [], meta: { requestId: "req-1", apiVersion: "2026-01" } },
  wire: { bytes: Buffer.from("{}"), encoding: "identity" },
};
const refused: ApiOutcome = { kind: "refused", ...exchange, status: 503, excerpt: "", usage: null };
const broken: ApiOutcome = {
  kind: "broken",
  call,
  sentAt: 1000,
  durationMs: 7,
  reached: "unknown",
  status: null,
  reason: "timeout",
  detail: "no answer within 700 ms",
};
const rowOf = (outcome: ApiOutcome, verdict: Parameters<typeof requestRow>[3] = { kind: "use" }) =>
  requestRow({ order, outcome }, "q1", 3, verdict);

test("a row names what was asked for, by route and address", () => {
  expect(orderedRow(order)).toEqual({
    runId: "r",
    stream: "signals",
    scope: "",
    work: "walk",
    endpoint: "/v1/signals",
    url: "/v1/signals?page=2&perPage=5",
  });
});

test("an answer's row has its rows, size and ids; one record counts as no row of a list", () => {
  expect(rowOf(ok)).toMatchObject({
    requestId: "q1",
    status: 200,
    charge: "spent",
    startedAt: 1000,
    durationMs: 7,
    bytes: 90,
    rows: 2,
    attempt: 3,
    error: null,
    serviceRequestId: "req-1",
    apiVersion: "2026-01",
  });
  expect(rowOf({ ...ok, data: { id: 1 } }).rows).toBe(0);
});

test("a refusal is free and named by its status; a broken answer is named by what happened, with the code that ends the run", () => {
  expect(rowOf(refused)).toMatchObject({ charge: "free", error: "HTTP 503", rows: 0, serviceRequestId: null });
  expect(rowOf({ ...refused, id: { requestId: "e", apiVersion: null } })).toMatchObject({ serviceRequestId: "e" });
  expect(rowOf(broken)).toMatchObject({ charge: "ambiguous", bytes: 0, error: "no answer within 700 ms" });
  const fails = { kind: "fail", code: "SERVICE_UNREACHABLE", context: {} } as const;
  expect(rowOf(broken, fails).error).toBe("SERVICE_UNREACHABLE: no answer within 700 ms");
});

test("a refusal is no credit, a paid answer is one", () => {
  const sent = { ...orderedRow(order), requestId: "q", startedAt: 1 };
  const paid = paidRow(sent, { status: 200, durationMs: 1, bytes: 1, rows: 1, error: null });
  expect(creditsOf([rowOf(refused), paid, unansweredRow(sent, "gone")])).toBe(2);
});
