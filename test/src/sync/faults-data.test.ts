// Data that does not fit, from the bytes of the answer to the published snapshot: over real sockets, through the real
// loader. Each value ends in a column, in `_extra` or in `sync.rejects`, and `sync.schema_drift` lists what is new. Shows P12.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aNewsArticle, anOrganization } from "../../support/fake-data.ts";
import { changing, createFakeService, type FakeAnswer, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { openSyncRig, type SyncRig, startSyncRig } from "../../support/sync-rig.ts";

const LONG = "ä€😀x".repeat(480_000);
const deep = (levels: number, core = "1") => `${"[".repeat(levels)}${core}${"]".repeat(levels)}`;
const MD5_OF_LONG = createHash("md5").update(LONG).digest("hex");

/** Raw JSON of members of a signal, the SQL of a cell and its text, `_extra` as text, `field kind detail` of the drift. */
type Case = readonly [
  what: string,
  members: Readonly<Record<string, string>>,
  cell: string,
  holds: string | null,
  extra: string | null,
  drift?: string,
];

const WEIRD = "92233720368547758080";
const CASES: readonly Case[] = [
  ["a number as text", { accountId: '"12"' }, "account_id", "12", null, "accountId other_type string"],
  ["a text as number", { headline: "5" }, "headline", null, '{"headline":5}', "headline other_type number"],
  ["a text as true", { headline: "true" }, "headline", null, '{"headline":true}', "headline other_type boolean"],
  [
    "a text as object",
    { headline: '{"en":"x"}' },
    "headline",
    null,
    '{"headline":{"en":"x"}}',
    "headline other_type object",
  ],
  ["a list as text", { sources: '"one"' }, "sources", null, '{"sources":"one"}', "sources other_type string"],
  ["a list of other things", { sources: '["a",1,{"b":2}]' }, "sources", null, '{"sources":["a",1,{"b":2}]}'],
  ["a list with null in it", { sources: '["a",null]' }, "to_json(sources)", '["a",null]', null],
  ["an object as text", { relevance: '"high"' }, "relevance", '"high"', null],
  ["a number beyond 2^53", { accountId: "9007199254740993" }, "account_id", "9007199254740993", null],
  ["a number beyond 64 bits", { accountId: WEIRD }, "account_id", null, `{"accountId":${WEIRD}}`],
  ["a count with a fraction", { accountId: "1.5" }, "account_id", null, '{"accountId":1.5}'],
  ["a number no double holds", { relevance: '{"n":1e999}' }, "relevance", '{"n":"1e999"}', null],
  [
    "fractions and exponents no double holds",
    { relevance: '{"n":0.1234567890123456789,"m":[1e-400,12345678901234567890e3]}', mood: "3.14159265358979323846" },
    "relevance",
    '{"n":0.1234567890123456789,"m":[1e-400,12345678901234567890e3]}',
    '{"mood":3.14159265358979323846}',
  ],
  ["a raw control character", { headline: '"a\tb"' }, "headline", "a\tb", null],
  ["600 levels of nesting", { mood: deep(600) }, "headline", "H", `{"mood":${deep(497, JSON.stringify(deep(103)))}}`],
  ["a date that is none", { date: '"soon"' }, "date", null, '{"date":"soon"}'],
  ["a day that does not exist", { date: '"2026-02-30"' }, "date", null, '{"date":"2026-02-30"}'],
  ["an empty date", { date: '""' }, "date", null, '{"date":""}'],
  ["a date as a number", { date: "1714979289" }, "date", null, '{"date":1714979289}', "date other_type number"],
  ["a date without a time", { date: '"2026-05-06"' }, "date", "2026-05-06 00:00:00+00", null],
  ["an offset", { date: '"2026-05-06T07:08:09+05:30"' }, "date", "2026-05-06 01:38:09+00", null],
  [
    "seven digits of a second",
    { date: '"2026-05-06T07:08:09.1234567Z"' },
    "date",
    "2026-05-06 07:08:09.123456+00",
    '{"date":"2026-05-06T07:08:09.1234567Z"}',
  ],
  [
    "an enumeration's new value",
    { type: '"quantum-leap"' },
    "type",
    "quantum-leap",
    null,
    "type new_value quantum-leap",
  ],
  [
    "an unknown field",
    { mood: '{"a":[1,null]}' },
    "headline",
    "H",
    '{"mood":{"a":[1,null]}}',
    "mood unknown_field object",
  ],
  [
    "unknown fields with awkward names",
    { ["__proto__"]: '{"x":1}', "": "2" },
    "headline",
    "H",
    '{"":2,"__proto__":{"x":1}}',
  ],
  [
    "half a surrogate pair",
    { headline: '"a \\ud83d b"' },
    "headline",
    "a \ufffd b",
    '{"headline":{"$json":"\\"a \\\\ud83d b\\""}}',
  ],
  ["a NUL character", { headline: '"a\\u0000b"' }, "headline", "a\0b", null],
  ["5 MB of text", { description: JSON.stringify(LONG) }, "md5(description)", MD5_OF_LONG, null],
  ["400 levels of nesting", { smartSummary: deep(400) }, "smart_summary", deep(400), null],
  [
    "text that looks like SQL",
    { headline: `"'); DROP TABLE signals; --"` },
    "headline",
    "'); DROP TABLE signals; --",
    null,
  ],
  ["null for what must be there", { headline: "null" }, "headline", null, null],
];

const DEFAULTS = {
  organizationId: '"org_1"',
  accountId: "1",
  type: '"podcast"',
  headline: '"H"',
  date: '"2026-05-05"',
  createdAt: '"2026-05-05T10:00:00Z"',
  updatedAt: '"2026-05-05T10:00:00Z"',
};
const object = (members: readonly (readonly [string, string])[]) =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
const signal = (id: string, members: Readonly<Record<string, string>> = {}) =>
  object([
    ["id", id],
    ...Object.entries(DEFAULTS).filter(([name]) => !Object.hasOwn(members, name)),
    ...Object.entries(members),
  ]);

/** Ids above 2^53, so that every case carries one. */
const FIRST_ID = 9_007_199_254_740_993n;
const idOfCase = (index: number) => FIRST_ID + BigInt(index);

/** Items that are no record, or have no usable id. */
const REJECTED: readonly (readonly [json: string, reason: string])[] = [
  ["null", "not an object but null"],
  ["7", "not an object but number"],
  ['"text"', "not an object but string"],
  ["[1,2]", "not an object but array"],
  ["{}", "key field id is missing"],
  ['{"id":null,"headline":"x"}', "key field id is missing"],
  ['{"id":{"a":1}}', "key field id is not usable: object"],
  ['{"id":true}', "key field id is not usable: boolean"],
  ['{"id":1.5}', "key field id is not usable: number"],
  ['{"id":"abc"}', "key field id is not usable: string"],
  ['{"id":18446744073709551617,"headline":"beyond"}', "key field id is beyond 64 bits"],
];
const BROKEN = String.raw`{"id":9,"headline":"it\'s"}`;
const TWICE = [signal("5", { headline: '"first"' }), signal("5", { headline: '"second"' })] as const;

const page = (records: readonly string[]): FakeAnswer => ({
  status: 200,
  body: `{"data":[${records.join(",")}],"meta":{"page":1,"perPage":1000,"totalCount":${records.length},"totalPages":1}}`,
});

let service: FakeService;
let rig: SyncRig;
let signals: readonly string[] = [
  ...CASES.map(([, members], index) => signal(String(idOfCase(index)), members)),
  ...REJECTED.map(([json]) => json),
  BROKEN,
  ...TWICE,
];

beforeAll(async () => {
  const data = anOrganization(2);
  // One article that is news of two companies.
  for (const company of ["c_1", "c_2"]) {
    data.lists[company] = { ...data.lists[company], "news-articles": [aNewsArticle("shared", { headline: company })] };
  }
  service = createFakeService(data, {
    before: ({ path }) => (path === "/v1/signals" ? page(signals) : undefined),
  });
  rig = await openSyncRig(service);
  const { report } = await rig.sync();
  expect(report.streams.find(({ stream }) => stream === "signals")).toMatchObject({
    inserted: CASES.length + 1,
    rejected: REJECTED.length + 2,
  });
});
afterAll(() => rig.close());

describe("a signal with", () => {
  test.each(CASES)("%s", async (what, _members, cell, holds, extra, drift) => {
    const id = idOfCase(CASES.findIndex(([name]) => name === what));
    const [row] = await rig.rows(
      `SELECT CAST(${cell} AS VARCHAR) AS cell, CAST(_extra AS VARCHAR) AS extra FROM signals WHERE id = ${id}`,
    );
    expect(row).toEqual({ cell: holds, extra });
    if (drift === undefined) return;
    const said = await rig.rows("SELECT concat_ws(' ', field, kind, detail) AS said FROM sync.schema_drift");
    expect(said).toContainEqual({ said: drift });
  });
});

test.each(REJECTED)("%s in a list is kept in sync.rejects: %s", async (json, reason) => {
  const rejects = await rig.rows("SELECT reason, record FROM sync.rejects WHERE stream = 'signals'");
  expect(rejects).toContainEqual({ reason, record: json });
});

test("a record that is no JSON costs itself only, and is kept as its text", async () => {
  const rejects = await rig.rows("SELECT record FROM sync.rejects WHERE reason = 'not valid JSON'");
  expect(rejects).toEqual([{ record: JSON.stringify(BROKEN) }]);
});

test("a broken embedded record, usage and meta cost no account: that record alone is rejected, and read by its id", async () => {
  const own = createFakeService(anOrganization(12));
  const faulty = changing(own, (path, answer) => {
    if (path !== "/v1/accounts") return answer;
    // A comma too many after each of these brackets.
    return { ...answer, body: JSON.stringify(answer.body).replace(/\{(?="id":"c_2")|"(meta|usage)":\{/g, "$&,") };
  });
  const { sync, rows } = await startSyncRig(faulty, { DUCKMIRROR_STREAMS: "accounts,companies" });
  const { error, of, sent } = await sync();
  expect([error, of("accounts")]).toMatchObject([null, { complete: true, inserted: 12 }]);
  const rejects = await rows(
    "SELECT table_name, reason, left(json_extract_string(record, '$'), 13) AS record FROM sync.rejects",
  );
  expect(rejects).toEqual([{ table_name: "companies", reason: "not valid JSON", record: '{,"id":"c_2",' }]);
  // Its profile has no fault.
  expect(sent.map(({ path }) => path)).toContain("/v1/companies/c_2");
  // The account brings it broken each time; the profile is paid for again only when it is due.
  expect((await sync()).sent.map(({ path }) => path)).toEqual(["/v1/accounts"]);
  expect(await rows("SELECT count(*)::INT AS n FROM companies")).toEqual([{ n: 12 }]);
});

test.each([
  ["accounts", "/v1/accounts"],
  ["news_articles", "/v1/companies/c_1/news-articles"],
] as const)(
  "a mirrored row of %s whose record has no id any more stays, however often its list is read",
  async (table, route) => {
    let isBroken = false;
    const faulty = changing(createFakeService(anOrganization(12)), (path, answer) => {
      const { data, ...body } = answer.body as { data?: Record<string, unknown>[] };
      if (!isBroken || path !== route || data === undefined) return answer;
      return {
        ...answer,
        body: { ...body, data: data.map(({ id, ...row }, at) => (at === 0 ? row : { id, ...row })) },
      };
    });
    const { sync, ids } = await startMemoryRig(faulty, { DUCKMIRROR_STREAMS: `accounts,${table}` });
    await sync();
    const before = ids(table);
    isBroken = true;
    for (const full of [true, true, false]) {
      const { of } = await sync({ full });
      expect([ids(table), of(table).deleted]).toEqual([before, 0]);
    }
    isBroken = false;
    const mended = await sync({ full: true });
    expect([ids(table), mended.of(table)]).toMatchObject([before, { complete: true, unconfirmed: 0 }]);
  },
);

test("the same id twice in a page with different content: the last one counts, the other is kept as a reject", async () => {
  expect(await rig.rows("SELECT headline FROM signals WHERE id = 5")).toEqual([{ headline: "second" }]);
  const rejects = await rig.rows("SELECT record FROM sync.rejects WHERE reason LIKE 'another record%'");
  expect(rejects).toEqual([{ record: TWICE[0] }]);
});

test("one article under two companies is a row of each", async () => {
  const rows = await rig.rows("SELECT company_id, headline FROM news_articles WHERE id = 'shared' ORDER BY company_id");
  expect(rows).toEqual([
    { company_id: "c_1", headline: "c_1" },
    { company_id: "c_2", headline: "c_2" },
  ]);
});

test("a field that changes its type between runs leaves its old value in history and its new one in _extra", async () => {
  signals = [signal("6", { subtype: '"plain"' }), signal("7", { subtype: '"stays"' })];
  await rig.sync({ full: true, allowMassDelete: true });
  signals = [signal("6", { subtype: "17" }), signal("7", { subtype: '"stays"' })];
  await rig.sync({ full: true, allowMassDelete: true });
  expect(await rig.rows("SELECT id, subtype, CAST(_extra AS VARCHAR) AS extra FROM signals ORDER BY id")).toEqual([
    { id: 6, subtype: null, extra: '{"subtype":17}' },
    { id: 7, subtype: "stays", extra: null },
  ]);
  expect(await rig.rows("SELECT id, subtype, change FROM history.signals WHERE id IN (6, 7)")).toEqual([
    { id: 6, subtype: "plain", change: "update" },
  ]);
  const drift = await rig.rows(
    "SELECT field, detail FROM sync.schema_drift WHERE kind = 'other_type' AND field = 'subtype'",
  );
  expect(drift).toEqual([{ field: "subtype", detail: "number" }]);
});
