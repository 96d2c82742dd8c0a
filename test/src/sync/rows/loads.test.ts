// What an answer becomes: rows of tables, records that came along, what a lookup found, a reading of the quota.
import { describe, expect, test } from "vitest";
import { createQuotaRecorder } from "../../../../src/budget/credits/local-ledger.ts";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { embeddedRecords, withoutContent } from "../../../../src/sync/rows/granted-fields.ts";
import { type Answer, idOf, loadsOf, timeOf, unknownInputLoad } from "../../../../src/sync/rows/loads.ts";
import { accountOf, lookupOutcome, outcomeJson } from "../../../../src/sync/rows/lookup-outcome.ts";

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
  const company = (call: object | null, analysis: object | string | null): Answer =>
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
  // One that is no JSON is a record of its own, which loading rejects.
  expect(recordsOf(company({ id: 5 }, '{"score":01}')).slice(1)).toEqual([
    ["earnings_calls", [{ id: 5 }]],
    ["earnings_calls", ['{"score":01}']],
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

const embed = streamSpec("accounts").embeds.find(({ table }) => table === "companies");
if (embed === undefined) throw new Error("accounts bring no companies");
const [key = ""] = embed.keys;
const embeddedIn = (value: JsonObject[string]) => embeddedRecords({ [key]: value }, embed);
const acme = { id: "c_1", name: "Acme" };

describe("embedded records", () => {
  test.each<[string, JsonObject[string], unknown[]]>([
    ["one record", acme, [acme]],
    ["a list", [acme, null, { id: "c_2" }], [acme, { id: "c_2" }]],
    ["a map by id whose records hold it", { c_1: acme, c_2: null }, [acme]],
    ["a map by id whose records lack it", { c_1: { name: "Acme" } }, [{ name: "Acme", id: "c_1" }]],
    ["a record without an id, which loading rejects", { name: "Acme" }, [{ name: "Acme" }]],
    ["a text, which loading rejects", "Acme", ["Acme"]],
    ["nothing", null, []],
    ["an empty map", {}, []],
    ["a map of nothing", { c_1: null }, []],
  ])("from %s", (_, value, records) => {
    expect(embeddedIn(value)).toEqual(records);
  });

  test("are searched under each of their keys, and under no other", () => {
    const included = Object.fromEntries(embed.keys.map((name) => [name, [{ id: name }]]));
    expect(embeddedRecords(included, embed)).toEqual(embed.keys.map((id) => ({ id })));
    expect(embeddedRecords({ else: [acme] }, embed)).toEqual([]);
    expect(embeddedRecords(null, embed)).toEqual([]);
  });

  test("a key named __proto__ is an id like any other", () => {
    const included: JsonObject = JSON.parse('{"__proto__":{"name":"Acme"}}');
    expect(embeddedIn(included)).toEqual([{ name: "Acme", id: "__proto__" }]);
  });
});

test("heavy fields that are not configured are left out; a record without them stays the same object", () => {
  const record = { id: 1, headline: "x", fullContent: "long" };
  expect(withoutContent(record, "signals")).toEqual({ id: 1, headline: "x" });
  expect(withoutContent(record, "signals", ["fullContent"])).toBe(record);
  const light = { id: 1 };
  expect(withoutContent(light, "signals")).toBe(light);
  expect(withoutContent("text", "signals")).toBe("text");
});

const found = (kind: "company" | "account", envelope: JsonObject) =>
  lookupOutcome({ kind, input: "acme.com" }, envelope);

test.each<[string, "company" | "account", JsonObject, object]>([
  ["a company", "company", { data: { id: "c_1" } }, { status: "found", id: "c_1" }],
  ["an account by its profile", "account", { data: { profile: { accountId: 7 } } }, { status: "found", id: 7 }],
  ["an account beside a profile that names none", "account", { data: { accountId: 7, profile: {} } }, { id: 7 }],
  ["an account without a profile", "account", { data: { accountId: 7, profile: null } }, { id: 7 }],
  ["no data", "account", { data: null }, { status: "not_found", id: null }],
  ["no account id", "account", { data: { profile: {} } }, { status: "not_found", id: null }],
  ["a status that says so", "company", { status: "not_found", data: { id: "c_1" } }, { status: "not_found" }],
  [
    "several accounts",
    "account",
    { status: "multiple_matches", data: null, candidates: [{ id: 1 }], bestMatch: { id: 1 } },
    { status: "multiple_matches", candidates: [{ id: 1 }], bestMatch: { id: 1 } },
  ],
  ["candidates that are no list", "account", { data: { accountId: 7 }, candidates: "x" }, { candidates: [] }],
])("%s", (_, kind, envelope, outcome) => {
  expect(found(kind, envelope)).toMatchObject({ kind, input: "acme.com", ...outcome });
});

test("an answer that is no object names no account", () => {
  expect(accountOf([])).toBeNull();
  expect(accountOf("x")).toBeNull();
});

test("the summary of its run names the best match as the mirror's columns do", () => {
  expect(outcomeJson(found("company", { data: { id: "c_1" } }))).toEqual({
    kind: "company",
    input: "acme.com",
    status: "found",
    id: "c_1",
    candidates: [],
    best_match: null,
  });
});

test("a later reading of the same millisecond is stored, too", () => {
  const recorder = createQuotaRecorder({ now: () => 5_000, sleep: async () => undefined });
  const seen = (used: number) => ({
    quota: { limit: 100, used, remaining: 100 - used, resetsAt: 1_000_000 },
    sentAt: 4_990 + used,
    receivedAt: 5_000,
  });
  recorder.see(seen(1));
  expect(recorder.take()).toMatchObject({ capturedAt: 5_000, remaining: 99 });
  recorder.see(seen(2));
  expect(recorder.take()).toBeNull();
  expect(recorder.take(true)).toMatchObject({ capturedAt: 5_001, remaining: 98 });
});
