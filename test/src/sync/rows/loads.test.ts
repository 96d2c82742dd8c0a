import { expect, test } from "vitest";
import { type Answer, idOf, loadsOf, timeOf, unknownInputLoad } from "../../../../src/sync/rows/loads.ts";

const T0 = Date.UTC(2026, 0, 31, 12);
const anAnswer = (more: Partial<Answer>): Answer => ({
  stream: "signals",
  scope: "",
  endpoint: "listSignals",
  query: {},
  requestId: "r1",
  walkId: "w1",
  receivedAt: T0,
  data: [],
  included: null,
  envelope: {},
  granted: [],
  ...more,
});
/** Records of each table that an answer becomes. */
const recordsOf = (answer: Answer) => loadsOf(answer).map(({ table, records }) => [table, records]);
const only = (answer: Answer) => {
  const [load, ...more] = loadsOf(answer);
  if (load === undefined || more.length > 0) throw new TypeError("not one load");
  return load;
};

test("of a list, every default field counts as asked, no opt-in field unless it is named, then only named ones", () => {
  const news = { stream: "news_articles", scope: "c_1", endpoint: "listNewsArticles" } as const;
  const plain = only(anAnswer(news));
  expect([plain.asked.has("headline"), plain.asked.has("articleBody"), plain.chosen]).toEqual([true, false, undefined]);
  expect([plain.walkId, plain.fromPath]).toEqual(["w1", { companyId: "c_1" }]);
  const named = only(anAnswer({ ...news, query: { onlyWithFields: "id,articleBody" } }));
  expect([[...named.asked].sort(), named.chosen]).toEqual([["articleBody", "id"], true]);
});

test("a null in a field that the list does not return says nothing, so the stored value stays; a null in another erases", () => {
  const record = { id: 1, headline: null, fullContent: null };
  expect(only(anAnswer({ data: [record] })).records).toEqual([{ id: 1, headline: null }]);
  // The list is known to return it, and the page is too short to disprove that.
  const granted = only(anAnswer({ data: [record], granted: ["fullContent"] }));
  expect([granted.records, granted.asked.has("fullContent")]).toEqual([[record], true]);
  const detail = only(anAnswer({ endpoint: "getSignal", data: record, walkId: null }));
  expect([detail.records, detail.asked.has("fullContent")]).toEqual([[record], true]);
});

test("records that come along with accounts are companies and owners; an owner without an id stays as received", () => {
  const accounts = anAnswer({
    stream: "accounts",
    endpoint: "listAccounts",
    data: [{ id: 1 }],
    included: { companies: [{ id: "c_1" }], owners: [{ id: 7, name: "Ann" }, { name: "Bob" }] },
  });
  const loads = loadsOf(accounts);
  expect(recordsOf(accounts)).toEqual([
    ["accounts", [{ id: 1 }]],
    ["companies", [{ id: "c_1" }]],
    ["owners", [{ id: "7", data: { id: 7, name: "Ann" } }, { name: "Bob" }]],
  ]);
  // They are no part of the walk, and what they lack says nothing.
  expect(loads.slice(1).map(({ walkId, asked }) => [walkId, [...asked]])).toEqual([
    [null, []],
    [null, ["data"]],
  ]);
});

test("the analysis beside a company's latest call belongs to that call; a second, different one is kept beside it", () => {
  const company = (call: object | null, analysis: object | null): Answer =>
    anAnswer({
      stream: "companies",
      scope: "c_1",
      endpoint: "getCompany",
      data: { id: "c_1" },
      included: JSON.parse(JSON.stringify({ latestEarningsCall: call, latestEarningsCallAnalysis: analysis })),
    });
  const callOf = (answer: Answer) => loadsOf(answer).find(({ table }) => table === "earnings_calls");
  expect(callOf(company({ id: 5, callTitle: null }, { score: 1 }))).toMatchObject({
    records: [{ id: 5, generatedAnalysis: { score: 1 } }],
    fromPath: { companyId: "c_1" },
  });
  expect(callOf(company({ id: 5, generatedAnalysis: { score: 1 } }, { score: 1 }))?.records).toEqual([
    { id: 5, generatedAnalysis: { score: 1 } },
  ]);
  expect(callOf(company({ id: 5, generatedAnalysis: { score: 2 } }, { score: 1 }))?.records).toEqual([
    { id: 5, generatedAnalysis: { score: 2 }, latestEarningsCallAnalysis: { score: 1 } },
  ]);
  // Without a call it stays with the company.
  expect(recordsOf(company(null, { score: 1 }))).toEqual([
    ["companies", [{ id: "c_1", latestEarningsCallAnalysis: { score: 1 } }]],
  ]);
});

test("a resolved input is stored with its company, an unknown one without, so that it is not asked for in every sync", () => {
  const resolved = {
    stream: "companies",
    scope: "input:acme.com",
    endpoint: "resolveCompany",
    data: { id: "c_1" },
  } as const;
  expect(recordsOf(anAnswer(resolved))).toContainEqual([
    "company_inputs",
    [{ input: "acme.com", companyId: "c_1", status: "found", resolvedAt: "2026-01-31T12:00:00.000Z" }],
  ]);
  expect(unknownInputLoad(anAnswer(resolved)).records).toMatchObject([{ companyId: null, status: "not_found" }]);
});

test("counts and usage are captured at the time of receipt; without a limit, both figures of the quota are empty", () => {
  const capturedAt = "2026-01-31T12:00:00.000Z";
  const counts = anAnswer({ stream: "signal_counts", endpoint: "getSignalCounts", data: { funding: 3 } });
  expect(only(counts).records).toEqual([{ capturedAt, type: "funding", count: 3 }]);
  const quota = { limit: -1, remaining: -1 };
  const usage = anAnswer({
    stream: "usage",
    endpoint: "getUsage",
    query: { groupBy: "day" },
    data: { quota, totals: { requests: 4, limit: 9 }, breakdown: [{ key: "a" }, "odd"], from: "x" },
  });
  const [snapshot, breakdown] = loadsOf(usage);
  // A name that two parts use keeps both values.
  expect(snapshot?.records).toEqual([
    { capturedAt, source: "usage", limit: null, remaining: null, quota, requests: 4, "totals.limit": 9, from: "x" },
  ]);
  expect(breakdown?.records).toEqual([{ capturedAt, groupBy: "day", key: "a" }, "odd"]);
});

test("data of another shape than an object is passed on, so that loading rejects and keeps it", () => {
  const counts = { stream: "signal_counts", endpoint: "getSignalCounts" } as const;
  expect(only(anAnswer({ ...counts, data: ["odd"] })).records).toEqual(["odd"]);
  expect(only(anAnswer({ ...counts, data: "odd" })).records).toEqual(["odd"]);
  expect(loadsOf(anAnswer({ ...counts, data: null }))).toEqual([]);
});

test("an insight belongs to the account of its request, or to the one that a lookup names, else to none", () => {
  const insight = { stream: "account_insights", endpoint: "getAccountInsight", envelope: { status: "ready" } } as const;
  const big = "9007199254740993";
  expect(only(anAnswer({ ...insight, scope: big, data: { value: 1 } })).records).toEqual([
    { accountId: 9007199254740993n, status: "ready", value: 1 },
  ]);
  expect(only(anAnswer({ ...insight, scope: "a-1", data: null })).records).toEqual([
    { accountId: "a-1", status: "ready" },
  ]);
  expect(loadsOf(anAnswer({ ...insight, scope: "lookup:acme", data: null }))).toEqual([]);
  const found = anAnswer({ ...insight, scope: "lookup:acme", data: { profile: { accountId: 5 } } });
  expect(only(found).records).toMatchObject([{ accountId: 5, profile: { accountId: 5 } }]);
});

test("an id is text whatever its type; a time is ms, or null if it is none", () => {
  expect([{ id: 7 }, { id: 7n }, { id: "7" }, { id: null }, {}, [7], 7].map(idOf)).toEqual([
    "7",
    "7",
    "7",
    null,
    null,
    null,
    null,
  ]);
  expect(timeOf({ updatedAt: "2026-01-31T12:00:00Z" }, "updatedAt")).toBe(T0);
  expect([{ updatedAt: T0 }, { updatedAt: "soon" }, null].map((record) => timeOf(record, "updatedAt"))).toEqual([
    null,
    null,
    null,
  ]);
});
