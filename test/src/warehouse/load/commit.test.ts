import { expect, test } from "vitest";
import type { JsonValue } from "../../../../src/core/json.ts";
import { writeScopeStates } from "../../../../src/warehouse/load/commit.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import {
  aCheckpoint,
  aLoad,
  aRequest,
  aSignal,
  aState,
  aWarehouse,
  defaultAsked,
  oneRow,
  rowsOf,
  T0,
} from "../builders.ts";

// States of scopes: one or many at once, the last of each counts, and each comes back as it was stored.

const byScope = (states: readonly ScopeState[]) => [...states].sort((a, b) => (a.scope < b.scope ? -1 : 1));

test("a single state and several take different ways to the same rows", async () => {
  const { database, scopeStates } = await aWarehouse();
  const store = (...states: readonly ScopeState[]) => database.transaction((tx) => writeScopeStates(tx, states));
  const full = aState({ scope: "a", rowsAtWalk: 3, walkedAt: 5, unconfirmed: { rows: 2, because: "x" }, error: "e" });
  const empty = aState({ scope: "b", walkId: null, cursor: null, watermark: null, totalCount: null, checkedAt: null });
  await store(full);
  expect(await scopeStates()).toEqual([full]);
  await store(empty, { ...full, totalCount: 99 });
  expect(byScope(await scopeStates())).toEqual([{ ...full, totalCount: 99 }, empty]);
  // The last one of a scope counts, in both ways.
  await store({ ...full, totalCount: 1 }, { ...full, totalCount: 2 });
  await store({ ...full, totalCount: 3 }, empty, { ...full, totalCount: 4 });
  expect(byScope(await scopeStates())).toEqual([{ ...full, totalCount: 4 }, empty]);
  await store(full, empty);
  expect(byScope(await scopeStates())).toEqual([full, empty]);
  await store();
  expect(await scopeStates()).toHaveLength(2);
});

const SECOND = 1000;

test("a page is counted as inserted once, then as unchanged, then as updated", async () => {
  const warehouse = await aWarehouse();
  const page = [aSignal(1), aSignal(2)];
  expect(await warehouse.commit(aCheckpoint([aLoad("signals", page)]))).toEqual([
    { inserted: 2, updated: 0, unchanged: 0, rejected: 0 },
  ]);
  expect(await warehouse.commit(aCheckpoint([aLoad("signals", page)]))).toEqual([
    { inserted: 0, updated: 0, unchanged: 2, rejected: 0 },
  ]);
  const changed = [aSignal(1, { headline: "new" }), aSignal(2), null];
  expect(await warehouse.commit(aCheckpoint([aLoad("signals", changed)]))).toEqual([
    { inserted: 0, updated: 1, unchanged: 1, rejected: 1 },
  ]);
});

test("an unchanged row is not rewritten; a changed one keeps when it was first seen and leaves its old version in history", async () => {
  const warehouse = await aWarehouse();
  const load = (headline: string, seconds: number, runId: string) =>
    warehouse.commit(
      aCheckpoint([aLoad("signals", [aSignal(1, { headline })], { receivedAt: T0 + seconds * SECOND })], { runId }),
    );
  await load("a", 0, "run-1");
  await load("a", 10, "run-2");
  const stamps = "SELECT headline, _first_synced_at, _synced_at, _run_id FROM signals";
  expect(await oneRow(warehouse, stamps)).toEqual({
    headline: "a",
    _first_synced_at: T0,
    _synced_at: T0,
    _run_id: "run-1",
  });
  expect(await rowsOf(warehouse, "FROM history.signals")).toEqual([]);
  await load("b", 20, "run-3");
  expect(await oneRow(warehouse, stamps)).toEqual({
    headline: "b",
    _first_synced_at: T0,
    _synced_at: T0 + 20 * SECOND,
    _run_id: "run-3",
  });
  const old = "SELECT headline, valid_from, valid_to, change, _run_id, _synced_at FROM history.signals";
  expect(await oneRow(warehouse, old)).toEqual({
    headline: "a",
    valid_from: T0,
    valid_to: T0 + 20 * SECOND,
    change: "update",
    _run_id: "run-1",
    _synced_at: T0,
  });
});

test("a request that is committed already changes nothing when it is loaded again", async () => {
  const warehouse = await aWarehouse();
  const load = aLoad("signals", [aSignal(1), 5], { walkId: "w" });
  await warehouse.commit(aCheckpoint([load]));
  const again = await warehouse.commit(aCheckpoint([{ ...load, records: [aSignal(1, { headline: "other" })] }]));
  expect(again).toEqual([{ inserted: 0, updated: 0, unchanged: 0, rejected: 0 }]);
  expect(await oneRow(warehouse, "SELECT headline FROM signals")).toEqual({ headline: "Signal 1" });
  expect(await rowsOf(warehouse, "FROM sync.rejects")).toHaveLength(1);
  expect(await rowsOf(warehouse, "FROM sync.requests")).toHaveLength(1);
});

test("the same id twice in one commit: the last record wins and is counted once", async () => {
  const warehouse = await aWarehouse();
  const counts = await warehouse.commit(
    aCheckpoint([
      aLoad("signals", [aSignal(1, { headline: "first" }), aSignal(1, { headline: "second" })]),
      aLoad("signals", [aSignal(1, { headline: "third" })]),
    ]),
  );
  expect(counts.map(({ inserted }) => inserted)).toEqual([0, 1]);
  expect(await oneRow(warehouse, "SELECT headline FROM signals")).toEqual({ headline: "third" });
});

test("a field that was not asked for keeps its value, one that was asked for and is absent becomes NULL", async () => {
  const warehouse = await aWarehouse();
  const content = { fullContent: "text", description: "short" };
  const everything = new Set([...defaultAsked("signals"), "fullContent", "sources"]);
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1, content)], { asked: everything })]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)])]));
  const kept = "SELECT full_content, description FROM signals";
  expect(await oneRow(warehouse, kept)).toEqual({ full_content: "text", description: null });
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)], { asked: everything })]));
  expect(await oneRow(warehouse, kept)).toEqual({ full_content: null, description: null });
});

test("a JSON number that differs beyond a double's precision is a change", async () => {
  const warehouse = await aWarehouse();
  const commit = (n: bigint) => warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1, { relevance: { n } })])]));
  await commit(2n ** 60n);
  expect(await commit(2n ** 60n + 1n)).toMatchObject([{ updated: 1 }]);
  expect(await oneRow(warehouse, "SELECT relevance FROM signals")).toEqual({ relevance: `{"n":${2n ** 60n + 1n}}` });
});

test("detail and list page of one record in one commit leave both, in either order", async () => {
  const everything = new Set([...defaultAsked("signals"), "fullContent", "sources"]);
  const detail = aLoad("signals", [aSignal(1, { fullContent: "text" })], { asked: everything });
  const page = aLoad("signals", [aSignal(1, { headline: "of the page" })]);
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([detail, page]));
  const row = "SELECT full_content, headline FROM signals";
  expect(await oneRow(warehouse, row)).toEqual({ full_content: "text", headline: "of the page" });
  const other = await aWarehouse();
  await other.commit(aCheckpoint([page, detail]));
  expect(await oneRow(other, row)).toEqual({ full_content: "text", headline: "Signal 1" });
});

test("an embedded record fills what it holds and touches nothing else", async () => {
  const warehouse = await aWarehouse();
  const own = { id: "c1", name: "Acme", domain: "acme.example", mainStockSymbol: "ACM", newField: 1 };
  await warehouse.commit(aCheckpoint([aLoad("companies", [own])]));
  const embedded = aLoad("companies", [{ id: "c1", name: "Acme Inc.", industry: null }], { asked: new Set() });
  await warehouse.commit(aCheckpoint([embedded]));
  expect(await oneRow(warehouse, "SELECT name, domain, main_stock_symbol, _extra FROM companies")).toEqual({
    name: "Acme Inc.",
    domain: "acme.example",
    main_stock_symbol: "ACM",
    _extra: '{"newField":1}',
  });
});

test("_extra is replaced as a whole, except for fields that were neither present nor asked for", async () => {
  const warehouse = await aWarehouse();
  const article = { id: "n1", url: "u", datePublished: "2024-01-01" };
  const inCompany = { fromPath: { companyId: "c1" } };
  const withBody = new Set([...defaultAsked("news_articles"), "articleBody"]);
  const first = { ...article, articleBody: { odd: true }, unknown: 1 };
  await warehouse.commit(aCheckpoint([aLoad("news_articles", [first], { ...inCompany, asked: withBody })]));
  const extra = "SELECT _extra FROM news_articles";
  expect(await oneRow(warehouse, extra)).toEqual({ _extra: '{"articleBody":{"odd":true},"unknown":1}' });
  await warehouse.commit(aCheckpoint([aLoad("news_articles", [{ ...article, other: 2n ** 70n }], inCompany)]));
  expect(await oneRow(warehouse, extra)).toEqual({ _extra: `{"articleBody":{"odd":true},"other":${2n ** 70n}}` });
  await warehouse.commit(aCheckpoint([aLoad("news_articles", [article], { ...inCompany, asked: withBody })]));
  expect(await oneRow(warehouse, extra)).toEqual({ _extra: null });
});

test("keys in another order are no change in a JSON column", async () => {
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1, { relevance: { a: 1, b: { c: 1, d: 2 } } })])]));
  const reordered = aLoad("signals", [aSignal(1, { relevance: { b: { d: 2, c: 1 }, a: 1 } })]);
  expect(await warehouse.commit(aCheckpoint([reordered]))).toMatchObject([{ updated: 0, unchanged: 1 }]);
});

test("a record belongs to the company whose list returned it; another company it names stays in _extra", async () => {
  const warehouse = await aWarehouse();
  const opening = (id: string, more = {}) => ({ id, url: "u", postedOn: "2024-01-01", ...more });
  const records = [opening("j1"), opening("j2", { companyId: "c1" }), opening("j3", { companyId: "c2" })];
  await warehouse.commit(aCheckpoint([aLoad("job_openings", records, { fromPath: { companyId: "c1" } })]));
  expect(await rowsOf(warehouse, "SELECT company_id, id, _extra FROM job_openings ORDER BY id")).toEqual([
    { company_id: "c1", id: "j1", _extra: null },
    { company_id: "c1", id: "j2", _extra: null },
    { company_id: "c1", id: "j3", _extra: '{"companyId":"c2"}' },
  ]);
});

test("hundreds of company pages in one commit, with different fields asked for, come out as if committed in small parts", async () => {
  const together = await aWarehouse();
  const apart = await aWarehouse();
  const withText = new Set([...defaultAsked("filings"), "fullContent"]);
  const loads = Array.from({ length: 300 }, (_, i) =>
    aLoad("filings", [{ id: i, type: "10-K", fullContent: i % 2 ? "text" : null }, { id: i + 1 }], {
      fromPath: { companyId: `c${i % 100}` },
      asked: i % 3 ? withText : defaultAsked("filings"),
    }),
  );
  const counts = await together.commit(aCheckpoint(loads));
  for (let from = 0; from < loads.length; from += 20) await apart.commit(aCheckpoint(loads.slice(from, from + 20)));
  const sql = "SELECT * EXCLUDE (_synced_at) FROM filings ORDER BY company_id, id";
  expect(await rowsOf(together, sql)).toEqual(await rowsOf(apart, sql));
  expect(counts.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(await together.countRows("filings"));
});

test("what cannot be a row is kept whole with its reason", async () => {
  const warehouse = await aWarehouse();
  const records: JsonValue[] = [
    null,
    [1],
    "text",
    { headline: "no id", n: 2n ** 64n },
    aSignal({ a: 1 }),
    aSignal(1.5),
  ];
  await warehouse.commit(aCheckpoint([aLoad("signals", records, { requestId: "q" })]));
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "\ud800" }, { id: "" }], { requestId: "q2" })]));
  const sql = "SELECT position, reason, record FROM sync.rejects ORDER BY request_id, position";
  const rejects = await rowsOf(warehouse, sql);
  expect(rejects.map(({ reason }) => reason)).toEqual([
    "not an object but null",
    "not an object but array",
    "not an object but string",
    "key field id is missing",
    "key field id is not usable: object",
    "key field id is not usable: number",
    "key field id is not usable: string",
    "key field id is not usable: string",
  ]);
  expect(rejects[3]?.record).toBe('{"headline":"no id","n":18446744073709551616}');
  expect(rejects[6]?.record).toBe('{"id":"\\ud800"}');
  expect(await warehouse.countRows("signals")).toBe(0);
});

test("differences from the API document are added up", async () => {
  const warehouse = await aWarehouse();
  const odd = aSignal(1, { type: "new-type", extraField: [1], headline: 5 });
  await warehouse.commit(aCheckpoint([aLoad("signals", [odd, aSignal(2, { extraField: [2] })])]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [odd])]));
  const sql = "SELECT table_name, field, kind, detail, occurrences FROM sync.schema_drift ORDER BY field";
  expect(await rowsOf(warehouse, sql)).toEqual([
    { table_name: "signals", field: "extraField", kind: "unknown_field", detail: "array", occurrences: 3 },
    { table_name: "signals", field: "headline", kind: "other_type", detail: "number", occurrences: 2 },
    { table_name: "signals", field: "type", kind: "new_value", detail: "new-type", occurrences: 2 },
  ]);
});

test("scope states, ledger and quota are committed with the rows, and the last state of a scope counts", async () => {
  const warehouse = await aWarehouse();
  const load = aLoad("signals", [aSignal(1)]);
  await warehouse.commit(
    aCheckpoint([load], {
      scopes: [
        aState({ cursor: "old" }),
        aState({ watermark: T0 + 0.5, totalCount: 2 ** 40 }),
        aState({ stream: "filings", scope: "c1" }),
      ],
      requests: [aRequest(load.requestId), aRequest("broken", { status: null, charge: "ambiguous", error: "reset" })],
      quota: { capturedAt: T0, limit: 100, used: null, remaining: 40, resetsAt: T0 + SECOND },
    }),
  );
  expect(await warehouse.scopeStates()).toEqual([
    aState({ stream: "filings", scope: "c1" }),
    aState({ watermark: T0 + 0.5, totalCount: 2 ** 40 }),
  ]);
  expect(await warehouse.scopeStates("filings")).toHaveLength(1);
  expect(await warehouse.requestsOf("run-1")).toEqual(new Set([load.requestId, "broken"]));
  expect(await rowsOf(warehouse, "SELECT request_id, charge, credits FROM sync.requests ORDER BY charge DESC")).toEqual(
    [
      { request_id: load.requestId, charge: "spent", credits: 1 },
      { request_id: "broken", charge: "ambiguous", credits: null },
    ],
  );
  const quota = 'SELECT captured_at, source, "limit", used, remaining, resets_at FROM usage_snapshots';
  expect(await oneRow(warehouse, quota)).toEqual({
    captured_at: T0,
    source: "response",
    limit: 100,
    used: null,
    remaining: 40,
    resets_at: T0 + SECOND,
  });
});

test("a commit that fails leaves nothing behind", async () => {
  const warehouse = await aWarehouse();
  const load = aLoad("signals", [aSignal(1)]);
  const impossible = { ...aRequest(load.requestId), attempt: 2 ** 40 };
  await expect(warehouse.commit(aCheckpoint([load], { scopes: [aState()], requests: [impossible] }))).rejects.toThrow();
  expect(await warehouse.countRows("signals")).toBe(0);
  expect(await warehouse.scopeStates()).toEqual([]);
  expect(await warehouse.commit(aCheckpoint([load]))).toMatchObject([{ inserted: 1 }]);
});
