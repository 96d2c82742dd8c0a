// Which checks a verification makes, in which order.
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../../src/catalog/streams.ts";
import { comparable, planChecks, type VerifyFacts } from "../../../../src/sync/verify/checks.ts";
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
