// What a verification checks, what a check found, what is said of it, and what repairing it costs.
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../../src/catalog/streams.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { countDifferences } from "../../../../src/sync/verify/check-records.ts";
import { type Check, comparable, planChecks, type VerifyFacts } from "../../../../src/sync/verify/checks.ts";
import { walkCredits } from "../../../../src/sync/verify/repair.ts";
import {
  afterCheck,
  type Difference,
  differencesError,
  distinct,
  earlyEnd,
  type Finding,
  type Findings,
  isDown,
  NO_FINDINGS,
} from "../../../../src/sync/verify/report.ts";
import { seededRandom } from "../../../support/chance.ts";

const facts = (more: Partial<VerifyFacts> = {}): VerifyFacts => ({
  lists: [
    { stream: "accounts", scope: "", rows: 5000 },
    { stream: "contacts", scope: "", rows: 40_000 },
    { stream: "signals", scope: "", rows: 90_000 },
    { stream: "filings", scope: "c_1", rows: 3 },
    { stream: "job_openings", scope: "c_2", rows: 2500 },
  ],
  pageSize: () => 1000,
  contacts: ["a", "b"],
  signals: ["7"],
  companies: ["c_1"],
  insights: ["1"],
  ...more,
});
const plan = (more: Partial<VerifyFacts> = {}, sample = 100, seed = 7) =>
  planChecks(facts(more), { streams: STREAM_NAMES, sample, random: seededRandom(seed) });

test("one page of each list of the organization comes first, then counts per type", () => {
  const first = plan().slice(0, 4);
  expect(first.map(({ kind, stream }) => `${stream} ${kind}`)).toEqual([
    "accounts page",
    "contacts page",
    "signals page",
    "signals signal-counts",
  ]);
});

test("after that everything takes turns, so that a small budget sees something of all", () => {
  const next = plan().slice(4, 9);
  expect(new Set(next.map(({ kind }) => kind))).toEqual(new Set(["page", "insight", "company", "detail"]));
});

test("pages are drawn from the whole list, each at most once, and the same seed draws the same ones", () => {
  const drawn = plan({}, 20_000).flatMap((check) =>
    check.kind === "page" && check.stream === "signals" ? [check.page] : [],
  );
  expect(drawn).toHaveLength(20);
  expect(new Set(drawn).size).toBe(20);
  expect(drawn.every((page) => page >= 1 && page <= 90)).toBe(true);
  expect(plan({}, 20_000)).toEqual(plan({}, 20_000));
  expect(plan({}, 20_000, 8)).not.toEqual(plan({}, 20_000));
});

test("what one page shows completely is not asked for again by id", () => {
  const small = { lists: [{ stream: "contacts", scope: "", rows: 900 }] } as const;
  expect(
    plan(small)
      .filter(({ stream }) => stream === "contacts")
      .map(({ kind }) => kind),
  ).toEqual(["page"]);
});

test("only the streams that are wanted are looked at", () => {
  const checks = planChecks(facts(), { streams: ["filings"], sample: 10, random: seededRandom(1) });
  expect(checks).toEqual([{ kind: "page", stream: "filings", scope: "c_1", page: 1 }]);
});

test("the number of signals is asked for only where signals are mirrored", () => {
  const companies = { lists: [{ stream: "filings", scope: "c_1", rows: 3 }] } as const;
  expect(plan(companies).filter(({ kind }) => kind === "signal-counts")).toEqual([]);
  const counts = planChecks(facts(), { streams: ["signal_counts"], sample: 1, random: seededRandom(1) });
  expect(counts).toEqual([{ kind: "signal-counts", stream: "signals" }]);
});

test("without Full Access only public company streams are compared", () => {
  const some = ["accounts", "signal_counts", "companies", "filings"] as const;
  expect(comparable(some, "closed")).toEqual(["companies", "filings"]);
  expect(comparable(some, "probe")).toEqual(["companies", "filings"]);
  expect([comparable(some, "open"), comparable(some, "unknown")]).toEqual([some, some]);
});

type Counted = readonly (readonly [string | null, number])[];
const PODCASTS: Counted = [["podcast", 2]];
const SOME_WITHOUT_TYPE: Counted = [
  ["podcast", 2],
  [null, 3],
];

test.each<[string, Counted, Parameters<typeof countDifferences>[1], readonly unknown[]]>([
  ["equal counts are none, and accounts are no type", PODCASTS, { all: 2, accounts: 77, podcast: 2 }, []],
  [
    "a type of which the service counts more, and their sum",
    PODCASTS,
    { all: 5, podcast: 5 },
    [
      ["type=podcast", "2", "5"],
      ["all", "2", "5"],
    ],
  ],
  ["a documented type that the service does not name has no signal there", PODCASTS, {}, [["type=podcast", "2", "0"]]],
  ["a type that no document names is compared, too", [], { "new-kind": 4 }, [["type=new-kind", "0", "4"]]],
  ["signals without a type count among all of them", SOME_WITHOUT_TYPE, { all: 5, podcast: 2 }, []],
  ["and are missed where the service has none", SOME_WITHOUT_TYPE, { all: 2, podcast: 2 }, [["all", "5", "2"]]],
  ["counts that came as texts are compared by their value", PODCASTS, { all: "2", podcast: "2" }, []],
  ["a count that is no number", PODCASTS, { podcast: "many" }, [["type=podcast", "2", "many"]]],
])("differences of signal counts: %s", (_, mirrored, counts, found) => {
  const differences = countDifferences(new Map(mirrored), counts);
  expect(differences.map(({ field, mirror, api }) => [field, mirror, api])).toEqual(found);
});

const PAGE: Check = { kind: "page", stream: "filings", scope: "c_1", page: 3 };
const aFinding = (status: Finding["status"], note: string | null = null): Finding => ({
  status,
  records: 10,
  differences: [],
  note,
});
const aDifference = (more: Partial<Difference> = {}): Difference => ({
  ...{ stream: "contacts", scope: "", kind: "field", key: "7", field: "email", mirror: "a", api: "b" },
  ...{ verdict: "wrong", repaired: false },
  ...more,
});
const after = (...statuses: Finding["status"][]): Findings =>
  statuses.reduce(
    (findings, status, nth) => afterCheck(findings, PAGE, aFinding(status, `note ${nth}`), 1),
    NO_FINDINGS,
  );

test("each check is reported with its company or its record, and its credits", () => {
  const checks: readonly Check[] = [PAGE, { kind: "detail", stream: "signals", id: "9" }];
  const { reports } = checks.reduce(
    (findings, check, nth) => afterCheck(findings, check, aFinding("equal"), nth),
    NO_FINDINGS,
  );
  expect(reports.map(({ check, scope, credits }) => [check, scope, credits])).toEqual([
    ["page", "c_1", 0],
    ["detail", "9", 1],
  ]);
});

test("a check that the end of the run stopped is not reported", () => {
  expect(after("stopped")).toBe(NO_FINDINGS);
});

test("the service is down after three failed checks in a row; any other outcome begins the count anew", () => {
  expect(isDown(after("failed", "failed"))).toBe(false);
  expect(isDown(after("failed", "failed", "failed"))).toBe(true);
  expect(isDown(after("failed", "failed", "skipped", "failed"))).toBe(false);
});

test("a difference that several checks found counts once, and as repaired if one of them repaired it", () => {
  const other = aDifference({ field: "phone" });
  const found = [aDifference({ repaired: true }), other, aDifference({ api: "c" })];
  expect(distinct(found)).toEqual([aDifference({ api: "c", repaired: true }), other]);
  // Of a count, key and field are null, which differs from the texts.
  const counts = [aDifference({ kind: "count", key: null, field: null }), aDifference({ kind: "count", key: "null" })];
  expect(distinct(counts)).toHaveLength(2);
  // What one check proves wrong is wrong, whichever came first.
  const newer = aDifference({ verdict: "newer" });
  expect(distinct([newer, aDifference()])).toEqual([aDifference()]);
  expect(distinct([aDifference(), newer])).toEqual([aDifference()]);
});

test("the error counts the differences, and how many of them are repaired", () => {
  expect(differencesError([])).toBeNull();
  expect(differencesError([aDifference()])?.message).not.toMatch(/repaired/);
  const error = differencesError([aDifference(), aDifference({ key: "8", repaired: true })]);
  expect(error?.code).toBe("VERIFY_DIFFERS");
  expect(error?.message).toMatch(/2 .*, 1 of them repaired/);
  expect(differencesError([aDifference({ verdict: "newer" })])).toBeNull();
});

test("a verification that compared something may run out of credits, but not of its credentials", () => {
  const budget = { kind: "stopped", error: new DuckmirrorError("BUDGET_SPENT", { budget: 1 }) } as const;
  expect(earlyEnd(budget, after("equal", "failed"))).toBeNull();
  expect(earlyEnd(budget, after("differs"))).toBeNull();
  expect(earlyEnd(budget, after("skipped"))).toBe(budget.error);
  const refused = { kind: "stopped", error: new DuckmirrorError("CREDENTIALS_REFUSED", { status: 401 }) } as const;
  expect(earlyEnd(refused, after("equal"))).toBe(refused.error);
  expect(earlyEnd({ kind: "interrupted" }, after("equal"))?.code).toBe("INTERRUPTED");
});

test("if every check failed, the first failure is the error; one comparison is enough to prove something", () => {
  expect(earlyEnd(null, after("skipped"))).toBeNull();
  expect(earlyEnd(null, after("failed", "failed"))?.message).toMatch(/note 0/);
  expect(earlyEnd(null, after("failed", "equal"))).toBeNull();
});

const aCount = (more: Partial<Difference>) =>
  aDifference({ stream: "signals", kind: "count", key: null, field: null, ...more });
const pages = {
  lists: [
    { stream: "signals", scope: "", rows: 99 },
    { stream: "filings", scope: "c_1", rows: 0 },
  ],
  pageSize: () => 10,
} as const;

test("each differing list is walked once, by pages that share rows; an empty or unknown one has a page, too", () => {
  expect(walkCredits([], pages)).toBe(0);
  expect(walkCredits([aCount({})], pages)).toBe(16);
  expect(walkCredits([aCount({}), aCount({ kind: "vanished", key: "1" })], pages)).toBe(16);
  const companies = ["c_1", "c_2"].map((scope) => aCount({ stream: "filings", scope }));
  expect(walkCredits(companies, pages)).toBe(8);
});

test("nothing is walked for a single value, a missing row, what is repaired, or what is no list", () => {
  const others = [{ kind: "field" }, { kind: "missing" }, { repaired: true }, { stream: "companies" }] as const;
  expect(others.map((other) => walkCredits([aCount(other)], pages))).toEqual([0, 0, 0, 0]);
});
