// What is asked for, and what the ledger has of it: requests as the configuration shapes them, the search for the largest page,
// smaller pages in place of those that fail, a row of each attempt.
import { describe, expect, test } from "vitest";
import type { ApiOutcome } from "../../../../src/api/outcome.ts";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { type CallOptions, companyCall, detailCall, listCall } from "../../../../src/sync/request/calls.ts";
import {
  type Probe,
  pageShownBy,
  probeAfterRefusal,
  probeOf,
  probeQuery,
} from "../../../../src/sync/request/page-probe.ts";
import {
  afterAnswerTo,
  sizeBelow,
  sizeFailureOf,
  withLargePagesAgain,
  withSmallerPages,
} from "../../../../src/sync/request/smaller-pages.ts";
import { creditsOf, plannedRow, requestRow, unansweredRow } from "../../../../src/sync/request/turn.ts";
import { broken, LIST, ok, refused } from "./outcomes.ts";

const options: CallOptions = { content: [], view: "default", rowScope: {} };
const shape = initialForm(100);
const read = { page: 1, perPage: 100, role: "cover" } as const;
const list = (stream: Parameters<typeof streamSpec>[0], more: Partial<CallOptions>) =>
  listCall(streamSpec(stream), "c", read, { kind: "walk" }, shape, { ...options, ...more }).query;

test("the view is named where the route offers one, and only if it is not the default", () => {
  expect(list("accounts", { view: "export" }).view).toBe("export");
  expect(list("filings", { view: "export" }).view).toBe("export");
  expect(list("contacts", { view: "export" }).view).toBeUndefined();
  expect(list("accounts", {}).view).toBeUndefined();
  for (const kind of ["id", "input"] as const) {
    const call = companyCall({ kind, value: "c" }, shape, streamSpec("companies"), { ...options, view: "export" });
    expect(call.query).toMatchObject({ view: "export", include: "latestEarningsCall,latestEarningsCallAnalysis" });
  }
});

test("filters that take one value are sent with one value, and not with several", () => {
  const one = { accounts: { owner_id: ["u_1"], priority: ["1"] }, contacts: { change_type: ["departure"] } };
  expect(list("accounts", { rowScope: one })).toMatchObject({ ownerId: "u_1", priority: "1" });
  expect(list("contacts", { rowScope: one })).toMatchObject({ changeType: "departure" });
  const two = { accounts: { owner_id: ["u_1", "u_2"] }, contacts: { change_type: ["departure", "promotion"] } };
  expect(list("accounts", { rowScope: two }).ownerId).toBeUndefined();
  expect(list("contacts", { rowScope: two }).changeType).toBeUndefined();
});

test("requests for single records name the fields that are not excluded", () => {
  const excludeFields = ["accounts.summary", "contacts.phone", "signals.relevance"];
  for (const [stream, excluded] of [
    ["accounts", "summary"],
    ["contacts", "phone"],
    ["signals", "relevance"],
  ] as const) {
    const { onlyWithFields } = detailCall(streamSpec(stream), "1", { excludeFields }).query;
    expect(onlyWithFields?.split(",")).toEqual(expect.arrayContaining(["id"]));
    expect(onlyWithFields?.split(",")).not.toContain(excluded);
    expect(detailCall(streamSpec(stream), "1", {}).query).toEqual({});
  }
});

/** Sizes asked for until `refuses` lets one pass, or the search gives up (null). */
const sizesAsked = (refuses: (size: number) => string | null, status = 400): readonly (number | null)[] => {
  const asked: (number | null)[] = [];
  for (let probe: Probe | null = probeOf(1000); probe !== null; ) {
    asked.push(probe.size);
    const excerpt: string | null = probe.size === null ? null : refuses(probe.size);
    probe = excerpt === null ? null : probeAfterRefusal(probe, status, excerpt);
  }
  return asked;
};

test("a refusal that names the largest page is believed at once", () => {
  expect(sizesAsked((size) => (size > 250 ? "perPage must be at most 250" : null))).toEqual([1000, 250]);
});

test("without a hint the sizes fall until one is granted", () => {
  const asked = sizesAsked((size) => (size > 100 ? "invalid request" : null));
  expect(asked.at(-1)).toBe(100);
  expect(asked).toEqual([...asked].sort((a, b) => Number(b) - Number(a)));
});

test.each<[string, number, string]>([
  ["a page that is too large to be carried", 413, ""],
  ["a failure of the service", 503, ""],
  ["a refusal of the choice of fields", 400, "unknown parameter onlyWithFields"],
])("%s ends in a request without either", (_, status, excerpt) => {
  const next = probeAfterRefusal(probeOf(1000), status, excerpt);
  expect(next).toEqual({ size: null, refusals: 1, filters: null });
  expect(next === null ? null : probeQuery(next)).toEqual({ perPage: "1" });
});

test("a service that refuses every size is asked a limited number of times", () => {
  const asked = sizesAsked(() => "invalid request");
  expect(asked.at(-1)).toBeNull();
  expect(asked.length).toBeLessThanOrEqual(13);
});

test("filters are dropped where they may be at fault, and a status that says nothing about the page ends the search", () => {
  const probe = probeOf(1000, { type: "customer" });
  expect(probeQuery(probe)).toEqual({ perPage: "1000", onlyWithFields: "id", type: "customer" });
  expect(probeAfterRefusal(probe, 400, "unknown filter type")).toEqual({ size: 1000, refusals: 1, filters: null });
  expect(probeAfterRefusal({ ...probe, size: null }, 422, "")).toEqual({ size: null, refusals: 1, filters: null });
  expect(probeAfterRefusal({ ...probe, size: null, filters: null }, 422, "")).toBeNull();
  expect(probeAfterRefusal(probe, 401, "")).toBeNull();
});

test("the rows of an answer are believed over its figures", () => {
  const page = (perPage: number | null, totalCount: number | null) => ({
    page: 1,
    perPage,
    totalCount,
    totalPages: null,
  });
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(1000, 5000) })).toBe(100);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(250, 100) })).toBe(250);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(null, null) })).toBe(1000);
  expect(pageShownBy(probeOf(1000), { data: rows(100), page: page(2000, 100) })).toBe(1000);
  expect(pageShownBy({ ...probeOf(1000), size: null }, { data: rows(1), page: page(1, 9) })).toBeNull();
});

const DAY = 86_400_000;
const T0 = 1_000;

describe("which failures a smaller page may avoid", () => {
  test.each([500, 502, 503, 413])("status %i", (status) => {
    expect(sizeFailureOf(refused(status))).toBe("answered");
  });
  test.each([408, 504])("status %i, which comes late", (status) => {
    expect(sizeFailureOf(refused(status))).toBe("slow");
  });
  test.each([400, 401, 404, 422, 429, 501])("not status %i", (status) => {
    expect(sizeFailureOf(refused(status))).toBeNull();
  });
  test("a time limit after the request was sent and a body over the limit, but no lost connection", () => {
    expect(sizeFailureOf(broken("timeout"))).toBe("slow");
    expect(sizeFailureOf(broken("too_large"))).toBe("paid");
    expect(
      [broken("timeout", { reached: "unsent" }), broken("reset"), broken("dns", { reached: "unsent" })].map(
        sizeFailureOf,
      ),
    ).toEqual([null, null, null]);
  });
});

test("a size is halved, after a time limit quartered, down to the documented default of 20", () => {
  expect([1000, 500, 250, 100, 50, 25, 20].map((size) => sizeBelow(size, "answered"))).toEqual([
    500,
    250,
    100,
    50,
    25,
    20,
    null,
  ]);
  expect([1000, 250, 50, 20].map((size) => sizeBelow(size, "slow"))).toEqual([250, 50, 20, null]);
});

describe("the size that failed", () => {
  const large = { ...initialForm(1000), settled: true };
  const smaller = withSmallerPages(withSmallerPages(large, 500, T0), 250, T0 + 1);

  test("is the largest one, since its first failure", () => {
    expect(smaller).toEqual({ ...large, perPage: 250, settled: false, failed: { perPage: 1000, at: T0 } });
  });

  test("is excused by an answer to a page as large, not by a smaller one", () => {
    const failed = { perPage: 1000, at: T0 };
    expect(afterAnswerTo(smaller, failed, 250)).toBe(smaller);
    expect(afterAnswerTo(smaller, failed, 1000)).toMatchObject({ perPage: 1000, failed: null });
  });

  test("is tried again after a week", () => {
    const stored = { ...smaller, settled: true };
    expect(withLargePagesAgain(stored, T0 + 7 * DAY - 1)).toBe(stored);
    expect(withLargePagesAgain(stored, T0 + 7 * DAY)).toEqual({ ...large, settled: false });
    expect(withLargePagesAgain(large, T0 + 70 * DAY)).toBe(large);
  });
});

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
  const row = { runId: "r", stream: "signals", scope: "", work: "walk", endpoint: "/v1/signals" };
  expect(plannedRow(order)).toEqual({ ...row, url: "/v1/signals?page=2&perPage=5" });
});

test("an answer's row has its rows, size and ids; one record counts as no row of a list", () => {
  expect(rowOf(answer)).toMatchObject({
    ...{ requestId: "q1", status: 200, charge: "spent", startedAt: 5, durationMs: 1, bytes: 2, rows: 2, attempt: 3 },
    ...{ error: null, serviceRequestId: "req-1", apiVersion: "2026-01" },
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
  const unanswered = unansweredRow({ ...plannedRow(order), requestId: "q", startedAt: 1 });
  expect(creditsOf([rowOf(refused(503)), rowOf(answer), unanswered])).toBe(2);
});
