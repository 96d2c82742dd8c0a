// What a list returns when it is asked: fields that API.md does not know reach the mirror, those that must be named are named
// (docs/decisions/fields.md), which these are is found out from answers and remembered, and nothing is paid for a second time.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { choiceAfter, grantsAfter } from "../../../../src/sync/rows/granted-fields.ts";
import { aCompany, anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../support/memory-rig.ts";

const CONTENT = { DUCKMIRROR_CONTENT: "fullContent" };
const SIGNALS = 30;

/** 30 signals of one account, with sources and text; one page holds 12 of them. */
const aService = (options: FakeOptions = {}): FakeService => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  data.companies.push(aCompany("c_1", { contactDataUrl: "https://contacts.example/c_1" }));
  for (let id = 1; id <= SIGNALS; id++) {
    const type = id === 1 ? "funding-alert" : "relevant-news";
    data.signals.push(aSignal(id, { type, sources: [`https://source.example/${id}`], fullContent: `Text ${id}` }));
  }
  return createFakeService(data, { maxPerPage: 12, ...options });
};

const start = (service: FakeService, env: Record<string, string> = {}) =>
  startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals,companies", ...env });

const details = (service: FakeService) => service.log.filter(({ path }) => /^\/v1\/signals\/\d+$/.test(path));
const pages = (service: FakeService) =>
  service.log.filter(({ path, status }) => path === "/v1/signals" && status === 200);
/** Signals that have sources, and those that have content. */
const held = (rows: MemoryRig["rows"]) => {
  const signals = rows("signals", "sources", "full_content");
  return {
    sources: signals.filter(({ sources }) => sources !== null).length,
    content: signals.filter(({ full_content: content }) => content !== null).length,
  };
};
const signal = (rows: MemoryRig["rows"], id: number) =>
  rows("signals", "id", "full_content").find((row) => row.id === BigInt(id));
const headlines = (rows: MemoryRig["rows"]) => new Set(rows("signals", "headline").map(({ headline }) => headline));

describe.each(["default", "named"] as const)("a list that returns sources and text (%s)", (shown) => {
  const fields = { sources: shown, fullContent: shown } as const;
  // The default response comes first; if it lacks them, its page comes again with names (docs/decisions/fields.md).
  const first = shown === "default" ? 3 : 4;

  test("no detail is paid for, at the first sync or later, and nothing but a first page is read twice", async () => {
    const service = aService({ fields });
    const { sync, rows } = await start(service, CONTENT);
    await sync();
    expect(held(rows)).toEqual({ sources: SIGNALS, content: SIGNALS });
    expect(pages(service)).toHaveLength(first);
    Object.assign(service.data.signals[3] ?? {}, { updatedAt: "2027-01-01T00:00:00Z", fullContent: "New text" });
    await sync();
    expect(signal(rows, 4)).toMatchObject({ full_content: "New text" });
    expect(details(service)).toEqual([]);
    expect(pages(service)).toHaveLength(first + 1);
  });

  test("content that is wanted later costs one walk of the list, in the sync that finds it out", async () => {
    const service = aService({ fields });
    const { sync, rows } = await start(service);
    await sync();
    await sync({}, CONTENT);
    expect(held(rows)).toEqual({ sources: SIGNALS, content: SIGNALS });
    expect(details(service)).toEqual([]);
    const before = pages(service).length;
    await sync({}, CONTENT);
    expect(pages(service)).toHaveLength(before + 1);
    // Signals that arrive while it is not wanted lack it: it is read once more when it is wanted again.
    service.data.signals.push(aSignal(99, { updatedAt: "2027-02-01T00:00:00Z", fullContent: "Text 99" }));
    await sync();
    await sync({}, CONTENT);
    expect(signal(rows, 99)).toMatchObject({ full_content: "Text 99" });
    expect(details(service)).toEqual([]);
  });

  test("a signal that loses its sources has none in the mirror either", async () => {
    const service = aService({ fields });
    service.data.signals.splice(1);
    const { sync, rows } = await start(service);
    await sync();
    expect(rows("signals", "sources")).toEqual([{ sources: ["https://source.example/1"] }]);
    Object.assign(service.data.signals[0] ?? {}, { sources: undefined, updatedAt: "2027-01-01T00:00:00Z" });
    await sync();
    expect(rows("signals", "sources")).toEqual([{ sources: null }]);
  });
});

describe("a list that never returns them", () => {
  const fields = { sources: "never", fullContent: "never" } as const;

  test("each signal is fetched by id, once per version", async () => {
    const service = aService({ fields });
    const { sync, rows } = await start(service, CONTENT);
    await sync();
    expect(held(rows)).toEqual({ sources: SIGNALS, content: SIGNALS });
    expect(details(service)).toHaveLength(SIGNALS);
    await sync();
    expect(details(service)).toHaveLength(SIGNALS);
  });

  test("its pages wipe nothing that details brought, also where rows change or content is wanted no longer", async () => {
    const service = aService({ fields });
    const { sync, rows } = await start(service, CONTENT);
    await sync();
    for (const signal of service.data.signals)
      Object.assign(signal, { headline: "Changed", updatedAt: "2027-01-01T00:00:00Z" });
    await sync({ full: true }, { DUCKMIRROR_CONTENT: "" });
    expect(headlines(rows)).toEqual(new Set(["Changed"]));
    expect(held(rows)).toEqual({ sources: SIGNALS, content: SIGNALS });
  });

  test("content that is wanted later is fetched in the same sync, after one look at the list", async () => {
    const service = aService({ fields });
    const { sync, rows } = await start(service);
    await sync();
    await sync({}, CONTENT);
    expect(held(rows)).toEqual({ sources: SIGNALS, content: SIGNALS });
  });
});

test.each(["Bad request", "unknown field sources"])(
  "a service that refuses the names (%s) is asked without them, at no credit and without giving up anything else",
  async (message) => {
    const service = aService();
    service.answerWhere(
      ({ query }) => /sources|contactDataUrl/.test(query.onlyWithFields ?? "") || Number(query.perPage) > 12,
      { status: 400, body: { error: { message } } },
    );
    const { sync, ids } = await start(service);
    expect((await sync()).error).toBeNull();
    expect(ids("signals")).toHaveLength(SIGNALS);
    expect(pages(service)).toHaveLength(3);
    expect(pages(service).every(({ query }) => query.sortBy === "id")).toBe(true);
  },
);

test("a company's contactDataUrl is named in every request for a profile, and its absence elsewhere wipes nothing", async () => {
  const service = aService({ fields: { contactDataUrl: "named" } });
  const { sync, rows } = await start(service, { DUCKMIRROR_COMPANIES: "c_1.example" });
  await sync();
  expect(rows("companies", "contact_data_url")).toEqual([{ contact_data_url: "https://contacts.example/c_1" }]);
  Object.assign(service.data.accounts[0] ?? {}, { updatedAt: "2027-01-01T00:00:00Z" });
  Object.assign(service.data.companies[0] ?? {}, { name: "Renamed" });
  await sync();
  expect(rows("companies", "name", "contact_data_url")).toEqual([
    { name: "Renamed", contact_data_url: "https://contacts.example/c_1" },
  ]);
});

test("a grant is taken back by a page that should show it and does not, not by a short one", () => {
  const query = { onlyWithFields: "id,sources" };
  const page = (length: number, record: object) => ({
    records: Array.from({ length }, () => ({ id: 1, ...record })),
    included: null,
  });
  const stream = streamSpec("signals");
  const granted = grantsAfter({ grants: [], lacks: [] }, stream, query, page(3, { sources: ["a"] }));
  expect(granted).toEqual({ grants: ["sources"], lacks: [] });
  expect(grantsAfter(granted, stream, query, page(3, {}))).toEqual(granted);
  expect(grantsAfter(granted, stream, {}, page(50, {}))).toEqual(granted);
  expect(grantsAfter(granted, stream, query, page(50, {}))).toEqual({ grants: [], lacks: ["sources"] });
});

/** The same signals, with a field that API.md does not know. */
const withUnknown = async (options: FakeOptions = {}) => {
  const service = aService(options);
  for (const signal of service.data.signals) signal.sentiment = "good";
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  return { service, rig };
};

const HELD = `select count(*)::integer as rows, count(sources)::integer as sources,
  count(_extra->>'sentiment')::integer as unknown from signals`;
const ALL = [{ rows: SIGNALS, sources: SIGNALS, unknown: SIGNALS }];

test("a field that API.md does not know is kept from the first sync on, at no credit", async () => {
  const { service, rig } = await withUnknown();
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.query(HELD)).toEqual(ALL);
  expect(pages(service)).toHaveLength(3);
  // A signal that changes keeps both.
  Object.assign(service.data.signals[0] ?? {}, { updatedAt: "2027-01-01T00:00:00Z", sentiment: "bad" });
  await rig.sync();
  expect(await rig.query("select _extra->>'sentiment' as s from signals where id = 1")).toEqual([{ s: "bad" }]);
  expect(pages(service)).toHaveLength(4);
});

test("where sources must be named, one page more shows it, and unknown fields are named with them", async () => {
  const { service, rig } = await withUnknown({ fields: { sources: "named" } });
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.query(HELD)).toEqual(ALL);
  expect(pages(service)).toHaveLength(4);
  await rig.sync();
  expect(pages(service)).toHaveLength(5);
  expect(pages(service).at(-1)?.query.onlyWithFields?.split(",")).toEqual(
    expect.arrayContaining(["sources", "sentiment"]),
  );
});

test("where naming brings nothing, that is tried once and remembered", async () => {
  const { service, rig } = await withUnknown({ fields: { sources: "never" } });
  for (let sync = 1; sync <= 3; sync += 1) expect((await rig.sync()).error).toBeNull();
  expect(await rig.query(HELD)).toEqual([{ rows: SIGNALS, sources: 0, unknown: SIGNALS }]);
  // The first mirror has three pages, each later sync reads one.
  expect(pages(service)).toHaveLength(3 + 1 + 2);
  expect(pages(service).filter(({ query }) => query.onlyWithFields !== undefined)).toHaveLength(1);
});

test.each(["default", "named"] as const)(
  "full content that the default response holds is in every row, however few credits the first runs have (sources: %s)",
  async (sources) => {
    const { service, rig } = await withUnknown({ fields: { sources, fullContent: "default" } });
    await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "2" });
    await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "9" });
    service.data.signals.push(aSignal(SIGNALS + 1, { fullContent: "New", updatedAt: "2027-01-01T00:00:00Z" }));
    await rig.sync();
    const held = "select count(*)::integer as rows, count(full_content)::integer as full from signals";
    expect(await rig.query(held)).toEqual([{ rows: SIGNALS + 1, full: SIGNALS + 1 }]);
  },
);

test("a service that refuses a name it does not document still gets the others", async () => {
  const before: FakeOptions["before"] = ({ query }) =>
    query.onlyWithFields?.includes("sentiment") ? { status: 400, body: { error: "Bad request" } } : undefined;
  const { service, rig } = await withUnknown({ fields: { sources: "named" }, before });
  expect((await rig.sync()).error).toBeNull();
  // The first page, of ten rows, came in both forms.
  expect(await rig.query(HELD)).toEqual([{ rows: SIGNALS, sources: SIGNALS, unknown: 10 }]);
  expect(pages(service)).toHaveLength(4);
});

test("changes that need a second page are read although the first page came twice", async () => {
  const { service, rig } = await withUnknown({ fields: { sources: "named" } });
  await rig.sync();
  // What the list returns is not known any more, and more signals have changed than fit a page.
  service.options = { ...service.options, fields: { sources: "default" } };
  await rig.sync();
  for (const signal of service.data.signals)
    Object.assign(signal, { headline: "New", updatedAt: "2027-01-01T00:00:00Z" });
  service.options = { ...service.options, fields: { sources: "named" } };
  await rig.sync();
  expect(await rig.query("select distinct headline from signals")).toEqual([{ headline: "New" }]);
});

const choicePage = (length: number, record: object, more: object = {}) => ({
  wanted: ["sources"],
  named: false,
  records: Array.from({ length }, (_, id) => ({ id, ...record })),
  lacks: [],
  perPage: 100,
  ...more,
});
const signals = streamSpec("signals");

test("few records without a value are no proof: more of them are asked for by name again", () => {
  const first = choiceAfter(initialForm(100), signals, choicePage(3, {}));
  expect(first).toMatchObject({ again: true, choice: { byName: ["sources"] } });
  const vain = choiceAfter(first.choice, signals, choicePage(3, {}, { named: true, lacks: ["sources"] }));
  expect(vain).toMatchObject({ again: false, choice: { byName: [], namedInVain: 3 } });
  const later = (length: number) =>
    choiceAfter(vain.choice, signals, choicePage(length, {}, { lacks: ["sources"] })).again;
  expect([later(4), later(6)]).toEqual([false, true]);
});

test("a list of one record a page is asked by name from its second page on: one record without a value proves little", () => {
  const first = choiceAfter(initialForm(100), signals, choicePage(1, {}));
  const vain = choiceAfter(first.choice, signals, choicePage(1, {}, { named: true, lacks: ["sources"] }));
  expect(vain.choice.byName).toEqual([]);
  // The second page shows how small pages are.
  const second = choiceAfter(vain.choice, signals, choicePage(1, {}, { lacks: ["sources"], perPage: 1 }));
  expect(second).toMatchObject({ again: true, choice: { byName: ["sources"] } });
  const third = choiceAfter(second.choice, signals, choicePage(1, {}, { named: true, lacks: ["sources"], perPage: 1 }));
  expect(third.choice.byName).toEqual(["sources"]);
});

test("a list that always names its fields settles the names: no later page comes in both forms", () => {
  const named = choiceAfter(initialForm(100), signals, choicePage(3, { sources: ["a"] }, { named: true }));
  expect(named).toMatchObject({ again: false, choice: { byName: ["sources"] } });
});
