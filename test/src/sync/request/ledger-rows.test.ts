// Ledger rows: what is written of each attempt, answered or not.
import { expect, test } from "vitest";
import type { ApiOutcome } from "../../../../src/api/outcome.ts";
import { creditsOf, orderedRow, requestRow, unansweredRow } from "../../../../src/sync/request/turn.ts";
import { broken, LIST, ok, refused } from "./outcomes.ts";

const call = { ...LIST, query: { page: "2", perPage: "5" } };
const order = { runId: "r", stream: "signals", scope: "", call, work: "walk" } as const;
const answer: ApiOutcome = {
  ...ok,
  data: [{ id: 1 }, { id: 2 }],
  envelope: { data: [], meta: { requestId: "req-1", apiVersion: "2026-01" } },
};
const lost = broken("timeout", { detail: "no answer within 700 ms" });
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
  expect(rowOf(answer)).toMatchObject({
    requestId: "q1",
    status: 200,
    charge: "spent",
    startedAt: 5,
    durationMs: 1,
    bytes: 2,
    rows: 2,
    attempt: 3,
    error: null,
    serviceRequestId: "req-1",
    apiVersion: "2026-01",
  });
  expect(rowOf({ ...answer, data: { id: 1 } }).rows).toBe(0);
});

test("a refusal is free and named by its status; a broken answer is named by what happened, with the code that ends the run", () => {
  expect(rowOf(refused(503))).toMatchObject({ charge: "free", error: "HTTP 503", rows: 0, serviceRequestId: null });
  expect(rowOf(refused(503, { id: { requestId: "e", apiVersion: null } }))).toMatchObject({ serviceRequestId: "e" });
  expect(rowOf(lost)).toMatchObject({ charge: "ambiguous", bytes: 0, error: "no answer within 700 ms" });
  const fails = { kind: "fail", code: "SERVICE_UNREACHABLE", context: {} } as const;
  expect(rowOf(lost, fails).error).toBe("SERVICE_UNREACHABLE: no answer within 700 ms");
});

test("a refusal is no credit, a paid answer is one", () => {
  const unanswered = unansweredRow({ ...orderedRow(order), requestId: "q", startedAt: 1 });
  expect(creditsOf([rowOf(refused(503)), rowOf(answer), unanswered])).toBe(2);
});
