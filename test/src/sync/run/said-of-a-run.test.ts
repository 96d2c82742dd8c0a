// What a run stores and says of its lists: which rows may be deleted or stay unconfirmed, what answers show, the counts and the
// status of each stream, and how the run ended.
import { describe, expect, test } from "vitest";
import { type LedgerStream, streamSpec } from "../../../../src/catalog/streams.ts";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { initialForm, type ListForm } from "../../../../src/sync/list/form.ts";
import { openList } from "../../../../src/sync/list/state.ts";
import { countEmbedded, ignoresFilters } from "../../../../src/sync/run/apply-response.ts";
import { endOfWork, untilReset } from "../../../../src/sync/run/finish-run.ts";
import { buildNextRequest } from "../../../../src/sync/run/next-request.ts";
import { contentOfAll } from "../../../../src/sync/run/read-list.ts";
import { guardDeletes } from "../../../../src/sync/run/reconcile/delete-missing-rows.ts";
import { completenessOf, missingParents, unconfirmedIn } from "../../../../src/sync/run/state/completeness.ts";
import { failureText } from "../../../../src/sync/run/state/list-ends.ts";
import { RunStats } from "../../../../src/sync/run/state/run-stats.ts";
import type { RequestRecord } from "../../../../src/warehouse/record/checkpoint.ts";
import { aRequest } from "../../warehouse/checkpoints.ts";

const guard = { maxShare: 0.2, allowMassDelete: false };
const verdict = (stream: "signals" | "news_articles", missing: number, rows: number, more = {}) =>
  guardDeletes(streamSpec(stream), { missing, rows }, { ...guard, ...more })?.code ?? "deleted";

describe("rows that a walk did not return", () => {
  test.each([
    [0, 0, "deleted"],
    [0, 10, "deleted"],
    [2, 10, "deleted"],
    [3, 10, "MASS_DELETE_REFUSED"],
    [10, 10, "MASS_DELETE_REFUSED"],
  ])("%i of %i: %s", (missing, rows, expected) => {
    expect(verdict("news_articles", missing, rows)).toBe(expected);
  });

  test("all rows of a list that needs Full Access point to the organization's tier", () => {
    expect(verdict("signals", 10, 10)).toBe("TIER_LOWERED");
    expect(verdict("signals", 9, 10)).toBe("MASS_DELETE_REFUSED");
  });

  test("may all be deleted where that is allowed, or where the share permits it", () => {
    expect(verdict("signals", 10, 10, { allowMassDelete: true })).toBe("deleted");
    expect(verdict("signals", 9, 10, { maxShare: 0.9 })).toBe("deleted");
    // A list that is empty all of a sudden is suspicious at any share.
    expect(verdict("news_articles", 10, 10, { maxShare: 1 })).toBe("MASS_DELETE_REFUSED");
  });
});

describe("rows that a walk leaves unconfirmed", () => {
  test.each<[number, number, number | null, number | null, string, number?]>([
    [10, 0, 10, null, ""],
    [10, 0, null, null, ""],
    [10, 2, null, 2, "the mirror holds 10 rows; the last walk did not meet 2 of them"],
    [10, 0, 12, 2, "the mirror holds 10 rows, the service counts 12"],
    // More records that are no rows than the service counts.
    [3, 0, -3, 6, "the mirror holds 3 rows, the service counts 0"],
    [10, 0, 9, 1, "the mirror holds 10 rows, the service counts 9"],
    // Rows that were not met are the ones beyond the count.
    [10, 3, 9, 3, "the mirror holds 10 rows, the service counts 9; the last walk did not meet 3 of them"],
    // Some are gone, and others are missing.
    [10, 1, 12, 3, "the mirror holds 10 rows, the service counts 12; the last walk did not meet 1 of them"],
    // Records that became no row may be those that were not met, and are none that are missing.
    [10, 1, 12, 5, "the mirror holds 10 rows, the service counts 12; the last walk did not meet 1 of them", 3],
    [10, 0, 10, null, "", 3],
  ])(
    "of %i, of which %i were not met, where %s are counted: %s, %s",
    (rows, unmet, counted, open, because, unread = 0) => {
      expect(unconfirmedIn({ rows, unmet, counted, unread })).toEqual(open === null ? null : { rows: open, because });
    },
  );
});

test("a stream whose lists are proven is not complete if the run failed in it", () => {
  const proven = new Map([["accounts", { complete: true, unconfirmed: 0, scopes: 1 }]]);
  const verdict = completenessOf(proven, "accounts", { failed: "X: y", left: false });
  expect(verdict).toMatchObject({ complete: false, reason: "X: y" });
});

test("a stream below companies misses none if it has read something, now or before", () => {
  const missing = (requests: number, scopes: number) => {
    const proven = new Map([["filings", { complete: false, unconfirmed: 0, scopes }]]);
    return missingParents(streamSpec("filings"), { proven, requests })?.code;
  };
  expect([missing(0, 0), missing(1, 0), missing(0, 1)]).toEqual(["PARENTS_MISSING", undefined, undefined]);
});

test("a complete walk gives every row the content that it asked for and got; another read takes from what it did not ask", () => {
  const shape = { grants: ["a", "b"], walkedWith: ["b", "c"] };
  expect(contentOfAll(shape, ["a", "x"], true)).toEqual(["a"]);
  expect(contentOfAll(shape, ["a", "b"], false)).toEqual(["b"]);
});

test("what a list grants is archived by the form of its request", () => {
  const shape: ListForm = { ...initialForm(50), inDefault: ["light"], grants: ["light", "heavy"] };
  const order = { stream: "accounts", scope: "", mode: "walk", overlap: false } as const;
  const list = openList({ order, before: undefined, shape, rows: 0, runId: "r", now: 0 });
  const read = { page: 2, perPage: 50, role: "cover" } as const;
  const usage = { historyDays: 30, breakdowns: ["endpoint"] };
  const options = { view: "default", content: [], rowScope: {}, exclude: [], usage } as const;
  const { call, detail } = buildNextRequest(list, read, shape, options, new Set());
  expect(detail).toMatchObject({ read, overlap: false, work: "walk" });
  expect(detail.granted).toEqual(call.query.onlyWithFields === undefined ? shape.inDefault : shape.grants);
});

const scope: RowScope = { accounts: { type: ["customer"] } };
const [inside, outside] = [
  { id: 1, type: "customer" },
  { id: 2, type: "prospect" },
];

test("a row outside the scope shows that the service ignores its filters, if it was asked with them", () => {
  expect(ignoresFilters(scope, "accounts", { type: "customer" }, [inside, outside])).toBe(true);
  expect(ignoresFilters(scope, "accounts", { type: "customer" }, [inside])).toBe(false);
  expect(ignoresFilters(scope, "accounts", { page: "1" }, [outside])).toBe(false);
  expect(ignoresFilters(scope, "contacts", { type: "customer" }, [outside])).toBe(false);
});

test.each([
  ["unchanged ones are no news", "contacts", {}, [0, 0, 0, 0]],
  ["changed ones count alone", "contacts", { updated: 1 }, [0, 1, 0, 0]],
  ["and so do new ones", "signals", { inserted: 1 }, [1, 0, 0, 0]],
  ["profiles of companies count as they are, because no list of their own counts them", "companies", {}, [0, 0, 7, 2]],
] as const)("embedded records: %s", (_, table, more, counted) => {
  const stats = new RunStats();
  const counts = { inserted: 0, updated: 0, unchanged: 7, rejected: 2, ...more };
  countEmbedded({ stats } as never, [{ stream: "account_insights", table }] as never, [counts]);
  const { inserted, updated, unchanged, rejected } = stats.of(table);
  expect([inserted, updated, unchanged, rejected]).toEqual(counted);
});

const failure = new DuckmirrorError("SERVICE_FAILING");
const request = (stream: LedgerStream, more: Partial<RequestRecord> = {}): RequestRecord =>
  aRequest("q", { stream, rows: 5, ...more });

test("each attempt is a request; only an answer without an error is a page, and only a charge a credit", () => {
  const stats = new RunStats();
  stats.countRequests([
    request("accounts"),
    request("accounts", { error: "RESPONSE_INVALID", rows: 0 }),
    request("accounts", { error: "RESPONSE_INVALID", rows: 0 }),
    request("accounts", { status: 503, charge: "free", rows: 0 }),
    request("accounts", { status: null, charge: "ambiguous", rows: 0 }),
    request("signals"),
  ]);
  expect(stats.of("accounts")).toMatchObject({ requests: 5, credits: 3, ambiguous: 1, pages: 1, rows: 5 });
  expect(stats.totals()).toEqual({ requests: 6, credits: 4, ambiguous: 1 });
});

test("records that a strict table did not take are rejected ones, too", () => {
  const stats = new RunStats();
  const counts = { inserted: 1, updated: 2, unchanged: 3, rejected: 4 };
  stats.countLoad("accounts", counts);
  stats.countLoad("accounts", { ...counts, misfits: 5 });
  expect(stats.of("accounts")).toMatchObject({ inserted: 2, updated: 4, unchanged: 6, rejected: 13 });
});

describe("the status of a stream", () => {
  const statusOf = (change: (stats: RunStats) => void, ended: "done" | "stopped" = "stopped") => {
    const stats = new RunStats();
    change(stats);
    return stats.reports(["accounts"], ended, new Map())[0]?.status;
  };

  test.each<[string, Parameters<typeof statusOf>[0], string]>([
    ["nothing was due", () => undefined, "skipped"],
    ["it was read", (stats) => stats.addMode("accounts", "walk"), "done"],
    ["its requests were refused", (stats) => stats.countRequests([request("accounts")]), "done"],
    ["work of it was left", (stats) => stats.leave("accounts"), "stopped"],
    ["it failed", (stats) => [stats.fail("accounts", failure), stats.leave("accounts")], "failed"],
  ])("if %s", (_, change, status) => {
    expect(statusOf(change)).toBe(status);
  });

  test("of a run that did all of its work is done, whatever was left on the way", () => {
    const change = (stats: RunStats) => {
      stats.countRequests([request("accounts")]);
      stats.leave("accounts");
    };
    expect(statusOf(change, "done")).toBe("done");
  });
});

test("a report names every strategy once, in order, and the failure", () => {
  const stats = new RunStats();
  for (const mode of ["watermark", "walk", "walk"]) stats.addMode("accounts", mode);
  expect([stats.fail("accounts", failure), stats.fail("accounts", new DuckmirrorError("QUOTA_SPENT"))]).toEqual([
    true,
    false,
  ]);
  const [report, other] = stats.reports(["accounts", "signals"], "done", new Map());
  expect(report).toMatchObject({
    mode: "walk+watermark",
    error: `${failure.code}: ${failure.message}`,
    complete: false,
  });
  expect(other).toMatchObject({ stream: "signals", mode: "none" });
  expect(other).not.toHaveProperty("error");
});

test("a failed stream leaves a partial run, also where a budget left work out; else a budget stops it, or all due work is done", () => {
  expect(endOfWork(["accounts", "filings"], ["walks"])).toMatchObject({
    status: "partial",
    error: { code: "STREAMS_FAILED", context: { streams: "accounts, filings" } },
  });
  expect(endOfWork([], ["walks", "content"])).toMatchObject({
    status: "stopped",
    error: { code: "BUDGET_REACHED", context: { budgets: "walks, content" } },
  });
  expect(endOfWork([], [])).toEqual({ status: "done", error: null });
});

test("a run without credits says when the period ends, and how certain that is; a time that the refusal named stays", () => {
  const spent = new DuckmirrorError("QUOTA_SPENT");
  const at = Date.UTC(2026, 11, 1);
  expect(untilReset(spent, at, "own").context.until).toBe(" until 2026-12-01T00:00:00.000Z");
  expect(untilReset(spent, at, "earlier").context.until).toMatch(/^; by its last report the period ends at 2026-12-01/);
  const named = new DuckmirrorError("QUOTA_SPENT", { until: " until noon" });
  expect(untilReset(named, 0, "own")).toBe(named);
});

test("another reason of a failure is reported anew; other words of the same response are not another reason", () => {
  const failures = new Map<string, number>();
  const failed = (detail: string) => new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail });
  const found = [...Array(7).fill("status 500, a"), "status 500, b", "status 503: c"].map((detail) =>
    failureText(failures, "filings", failed(detail)),
  );
  expect(found[7]).toBeNull();
  expect(found[8]).toContain("status 503");
});
