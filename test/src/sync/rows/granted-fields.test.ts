// What a list returns when it is asked: found out from its answers, remembered, and never paid for a second time.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { grantsAfter } from "../../../../src/sync/rows/granted-fields.ts";
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
