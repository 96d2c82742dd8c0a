import fc from "fast-check";
import { expect, test } from "vitest";
import { type TableName, tableSpec } from "../../../../src/catalog/tables.ts";
import { ExactNumber, type JsonValue } from "../../../../src/core/json.ts";
import { parseTime } from "../../../../src/core/time.ts";
import { createNormalizer, misfitOf } from "../../../../src/warehouse/record/normalize-record.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, defaultAsked, oneRow, rowsOf } from "../builders.ts";

const normalize = (table: TableName, record: JsonValue, fromPath: Record<string, JsonValue> = {}) => {
  const row = createNormalizer(table, { asked: defaultAsked(table), fromPath })(record);
  if (row.kind === "reject") throw new Error(`rejected: ${row.reason}`);
  const { fields } = tableSpec(table);
  return {
    cell: (name: string) => row.cells[fields.findIndex((field) => field.name === name)],
    extra: Object.fromEntries(row.extra),
    drift: row.drift,
  };
};

const micros = (iso: string) => BigInt(Date.parse(iso)) * 1000n;

test.each([
  ["2024-05-06", micros("2024-05-06T00:00:00Z")],
  ["2024-05-06T07:08:09Z", micros("2024-05-06T07:08:09Z")],
  ["2024-05-06T07:08:09", micros("2024-05-06T07:08:09Z")],
  ["2024-05-06 07:08", micros("2024-05-06T07:08:00Z")],
  ["2024-05-06T07:08:09.1Z", micros("2024-05-06T07:08:09.100Z")],
  ["2024-05-06T07:08:09.1234569Z", micros("2024-05-06T07:08:09.123Z") + 456n],
  ["2024-05-06T07:08:09.123456789+02:00", micros("2024-05-06T05:08:09.123Z") + 456n],
  ["2024-05-06T07:08:09-0530", micros("2024-05-06T12:38:09Z")],
  ["2024-05-06T07:08:09+02", micros("2024-05-06T05:08:09Z")],
  ["2024-02-29T24:00:00Z", micros("2024-03-01T00:00:00Z")],
  ["2016-12-31T23:59:60Z", micros("2017-01-01T00:00:00Z")],
  ["1969-12-31T23:59:59.9999999Z", -1n],
  ["0001-01-01", -62_135_596_800_000_000n],
  ["9999-12-31T23:59:59.999999Z", micros("9999-12-31T23:59:59.999Z") + 999n],
])("the time %s is understood in UTC", (text, expected) => {
  // Digits beyond the microsecond are cut, and then the column does not say all that the text said.
  expect(parseTime(text)).toEqual({ micros: expected, exact: !/\.\d{7}/.test(text) });
});

test("a time finer than a microsecond stands in its column, and as it came in _extra", () => {
  const normalize = createNormalizer("signals", { asked: new Set(), fromPath: {} });
  const fine = "2024-05-06T07:08:09.123456789Z";
  const row = normalize({ id: 1, date: fine, createdAt: "2024-05-06T07:08:09.123456000Z" });
  expect(row).toMatchObject({ kind: "row", cut: ["date"], extra: new Map([["date", JSON.stringify(fine)]]) });
  expect(row.kind === "row" ? misfitOf(row) : "rejected").toBeNull();
});

test.each([
  "",
  "soon",
  "2024-13-01",
  "2023-02-29",
  "1900-02-29",
  "2024-05-06T25:00Z",
  "2024-05-06T24:01Z",
  "05/06/2024",
  "2024-W01",
  "1714979289",
  "0000-01-01",
  "2024-05-06T07:08:09+24:00",
])("%j is no time: the column is NULL and the text stays in _extra", (text) => {
  expect(parseTime(text)).toBeNull();
  const row = normalize("signals", aSignal(1, { updatedAt: text }));
  expect(row.cell("updatedAt")).toBeNull();
  expect(row.extra).toEqual({ updatedAt: JSON.stringify(text) });
});

test("a month without a day becomes its first day, and the text stays in _extra", () => {
  const row = normalize("signals", aSignal(1, { clinicalTrialStudyCompletionDate: "2025-06" }));
  expect(row.cell("clinicalTrialStudyCompletionDate")).toBe(micros("2025-06-01T00:00:00Z"));
  expect(row.extra).toEqual({ clinicalTrialStudyCompletionDate: '"2025-06"' });
});

test.each<[string, JsonValue, JsonValue]>([
  ["a whole number", 42, 42n],
  ["one beyond 2^53", 2n ** 53n + 1n, 2n ** 53n + 1n],
  ["the largest 64-bit one", 2n ** 63n - 1n, 2n ** 63n - 1n],
  ["minus nothing", -0, 0n],
  ["the smallest 64-bit one", -(2n ** 63n), -(2n ** 63n)],
  ["one written as text", "42", 42n],
  ["one beyond 2^53 as text", "9007199254740993", 2n ** 53n + 1n],
  ["one with zeros behind the point", "40.00", 40n],
  ["a negative one as text", "-9223372036854775808", -(2n ** 63n)],
])("a count takes %s", (_, value, expected) => {
  const row = normalize("companies", { id: "c", numberOfEmployees: value });
  expect(row.cell("numberOfEmployees")).toBe(expected);
  expect(row.extra).toEqual({});
});

test.each<[JsonValue, string]>([
  [1.5, "1.5"],
  [2n ** 63n, "9223372036854775808"],
  [new ExactNumber("7.1234567890123456789"), "7.1234567890123456789"],
  ...["042", "", "+7", "-0", "7.", "7.5", " 7", "9223372036854775808"].map((text): [string, string] => [
    text,
    JSON.stringify(text),
  ]),
  ["about 50", '"about 50"'],
  ["1e3", '"1e3"'],
  [true, "true"],
  [{ from: 1 }, '{"from":1}'],
  [[1], "[1]"],
])("a count of %s does not fit: NULL, and the value in _extra", (value, extra) => {
  const row = normalize("companies", { id: "c", numberOfEmployees: value });
  expect(row.cell("numberOfEmployees")).toBeNull();
  expect(row.extra).toEqual({ numberOfEmployees: extra });
});

test("values of another type than the document names are kept in _extra and noted", () => {
  const record = {
    id: 1,
    name: 5,
    priority: 2 ** 31,
    mainScore: "high",
    summary: ["a"],
    type: "prospect",
    organizationId: "o",
    createdAt: 1_700_000_000,
    updatedAt: "2024-01-01",
  };
  const row = normalize("accounts", record);
  expect(row.extra).toEqual({ name: "5", priority: "2147483648", mainScore: '"high"', createdAt: "1700000000" });
  expect(row.cell("summary")).toBe('["a"]');
  expect(row.drift.map(({ field, kind }) => `${field} ${kind}`)).toEqual([
    "name other_type",
    "priority new_value",
    "mainScore other_type",
    "createdAt other_type",
  ]);
});

test("a score that came as a number in text is that number; text that says it another way is kept as it came", () => {
  const row = normalize("accounts", { id: 1, mainScore: "55.5" });
  expect(row.cell("mainScore")).toBe(55.5);
  expect(row.extra).toEqual({});
  expect(row.drift.map(({ field, kind }) => `${field} ${kind}`)).toContain("mainScore other_type");
  for (const [text, score] of Object.entries({ "55.50": 55.5, "40.0": 40, "0.0": 0, "-1.50": -1.5 }))
    expect(normalize("accounts", { id: 1, mainScore: text }).cell("mainScore")).toBe(score);
  for (const odd of ["1e3", " 5", "0x10", "9007199254740993", "-0", "", "01", ".5", "5.", "1,5"]) {
    const kept = normalize("accounts", { id: 1, mainScore: odd });
    expect(kept.cell("mainScore")).toBeNull();
    expect(kept.extra).toEqual({ mainScore: JSON.stringify(odd) });
  }
});

test("a score with more digits than a double holds is the nearest double, and as it came in _extra", () => {
  const digits = "0.1234567890123456789";
  for (const [score, kept] of [
    [new ExactNumber(digits), digits],
    [digits, `"${digits}"`],
  ] as const) {
    const row = normalize("accounts", { id: 1, mainScore: score });
    expect([row.cell("mainScore"), row.extra.mainScore]).toEqual([Number(digits), kept]);
  }
  expect(normalize("accounts", { id: 1, mainScore: 2n ** 60n }).cell("mainScore")).toBe(2 ** 60);
  expect(normalize("accounts", { id: 1, mainScore: 2n ** 60n + 1n }).cell("mainScore")).toBeNull();
});

test("yes and no are themselves; their names in text are not", () => {
  expect(normalize("usage_requests", { id: 1, successful: false }).cell("successful")).toBe(false);
  const row = normalize("usage_requests", { id: 1, successful: "false" });
  expect([row.cell("successful"), row.extra]).toEqual([null, { successful: '"false"' }]);
});

test("lists of text may hold null; anything else in them does not fit", () => {
  const row = normalize("contacts", {
    id: "c",
    introPaths: ["a", null],
    matchingTargetKeywords: ["a", 1],
    matchingTargetLocations: "Berlin",
  });
  expect(row.cell("introPaths")).toEqual(["a", null]);
  expect(row.extra).toEqual({ matchingTargetKeywords: '["a",1]', matchingTargetLocations: '"Berlin"' });
});

test("a row is not lost because its text id came as a number", () => {
  const row = normalize("contacts", { id: 2n ** 60n });
  expect(row.cell("id")).toBe(String(2n ** 60n));
  expect(row.extra).toEqual({ id: String(2n ** 60n) });
});

test("text that UTF-8 cannot hold is stored as well as possible, its exact form stays in _extra", async () => {
  const warehouse = await aWarehouse();
  const content = {
    headline: "half \ud83d pair",
    description: "nul \0 inside",
    matchingKeywords: ["\udc00", "a\0b"],
    relevance: { "k\ud800": "v\udfff", text: "\\ud800" },
    "name\ud800": 1,
  };
  const odd = aSignal(1, content);
  await warehouse.commit(aCheckpoint([aLoad("signals", [odd])]));
  const row = await oneRow(
    warehouse,
    "SELECT headline, description, matching_keywords, relevance, json_valid(relevance) AS valid, json_valid(_extra) AS valid_extra, _extra FROM signals",
  );
  expect(row).toMatchObject({
    headline: "half \ufffd pair",
    description: "nul \0 inside",
    matching_keywords: ["\ufffd", "a\0b"],
    relevance: '{"k\ufffd":"v\ufffd","text":"\\\\ud800"}',
    valid: true,
    valid_extra: true,
  });
  const extra: Record<string, { $json: string }> = JSON.parse(String(row._extra));
  expect(JSON.parse(extra.headline?.$json ?? "")).toBe("half \ud83d pair");
  expect(JSON.parse(extra.relevance?.$json ?? "")).toEqual(content.relevance);
  expect(JSON.parse(extra.matchingKeywords?.$json ?? "")).toEqual(content.matchingKeywords);
});

test("long text, deep nesting and awkward names are stored exactly", async () => {
  const warehouse = await aWarehouse();
  const long = "ä€😀x".repeat(1_000_000);
  let deep: JsonValue = 1;
  for (let i = 0; i < 50_000; i++) deep = [deep];
  const own = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "": 3}');
  const record = { ...aSignal(1, { description: long, relevance: deep, smartSummary: own }), ...own };
  Object.defineProperty(record, "__proto__", { value: 5, enumerable: true });
  await warehouse.commit(aCheckpoint([aLoad("signals", [record])]));
  const row = await oneRow(warehouse, "SELECT description, relevance, smart_summary, _extra FROM signals");
  expect(row.description === long).toBe(true);
  expect(String(row.relevance)).toBe(`${"[".repeat(50_000)}1${"]".repeat(50_000)}`);
  expect(row.smart_summary).toBe('{"__proto__":{"a":1},"constructor":2,"":3}');
  expect(row._extra).toBe('{"":3,"__proto__":5,"constructor":2}');
});

test("an object with members named like those every object has is data like any other", () => {
  const normalizeSignal = createNormalizer("signals", { asked: new Set(), fromPath: {} });
  const odd = JSON.parse('{"toString":1,"valueOf":null,"toJSON":"x","length":-1,"then":true,"hasOwnProperty":0}');
  for (const { name } of tableSpec("signals").fields.filter((field) => field.name !== "id")) {
    for (const value of [odd, [odd], { inner: odd }]) {
      expect(normalizeSignal({ id: 1, [name]: value }).kind, name).toBe("row");
    }
  }
  expect(normalizeSignal({ id: odd }).kind).toBe("reject");
});

test("any JSON object with a usable id becomes a row, and every value ends in a column or in _extra", async () => {
  const names = [
    ...tableSpec("signals")
      .fields.map(({ name }) => name)
      .filter((name) => name !== "id"),
    "other",
    "x y",
  ];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.string({ unit: "binary" }),
  );
  const record = fc.dictionary(fc.constantFrom(...names), value);
  const normalizeSignal = createNormalizer("signals", { asked: new Set(), fromPath: {} });
  fc.assert(
    fc.property(record, (fields) => {
      const row = normalizeSignal({ ...fields, id: 1 });
      if (row.kind !== "row") throw new Error(row.reason);
      const lost = Object.entries(fields).filter(([name, item]) => {
        const index = tableSpec("signals").fields.findIndex((field) => field.name === name);
        return item !== null && (row.cells[index] ?? null) === null && !row.extra.has(name);
      });
      expect(lost).toEqual([]);
    }),
    { numRuns: 1000, verbose: 1 },
  );
  const warehouse = await aWarehouse();
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
      const rows = records.map((fields, id) => ({ ...fields, id }));
      const [counts] = await warehouse.commit(aCheckpoint([aLoad("signals", rows)]));
      expect(counts?.rejected).toBe(0);
      // Every JSON column can be read back by DuckDB.
      await rowsOf(warehouse, "SELECT json_type(relevance), json_type(smart_summary), json_keys(_extra) FROM signals");
      const [again] = await warehouse.commit(aCheckpoint([aLoad("signals", rows)]));
      expect(again).toMatchObject({ inserted: 0, updated: 0 });
    }),
    { numRuns: 10, verbose: 1 },
  );
});

test.each([
  ["accounts", "whole reject"],
  ["signals", "whole reject"],
  ["earnings_calls", "whole reject"],
  ["filings", "whole reject"],
  ["contacts", "row under its digits"],
  ["companies", "row under its digits"],
  ["news_articles", "row under its digits"],
  ["job_openings", "row under its digits"],
] as const)("an id beyond 64 bits in %s is a %s", (table, outcome) => {
  const beyond = { id: 2n ** 64n + 1n };
  if (outcome === "whole reject") {
    expect(() => normalize(table, beyond, { companyId: "c" })).toThrow("key field id is beyond 64 bits");
    return;
  }
  const { cell, extra } = normalize(table, beyond, { companyId: "c" });
  expect([cell("id"), extra.id]).toEqual(["18446744073709551617", "18446744073709551617"]);
});
