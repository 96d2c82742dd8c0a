// Fields that API.md does not know reach the mirror, and fields that must be named are named
// (docs/decisions/fields.md).
import { expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { choiceAfter } from "../../../../src/sync/rows/granted-fields.ts";
import { anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const SIGNALS = 30;

/** 30 signals with sources and a field that API.md does not know; one page holds 12 of them. */
const start = async (options: FakeOptions = {}, env: Record<string, string> = {}) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= SIGNALS; id++)
    data.signals.push(aSignal(id, { sentiment: "good", fullContent: `Text ${id}` }));
  const service = createFakeService(data, { maxPerPage: 12, ...options });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals", ...env });
  return { service, rig };
};

const pages = (service: FakeService) =>
  service.log.filter(({ path, status }) => path === "/v1/signals" && status === 200);
const HELD = `select count(*)::integer as rows, count(sources)::integer as sources,
  count(_extra->>'sentiment')::integer as unknown from signals`;
const ALL = [{ rows: SIGNALS, sources: SIGNALS, unknown: SIGNALS }];

test("a field that API.md does not know is kept from the first sync on, at no credit", async () => {
  const { service, rig } = await start();
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
  const { service, rig } = await start({ fields: { sources: "named" } });
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
  const { service, rig } = await start({ fields: { sources: "never" } });
  for (let sync = 1; sync <= 3; sync += 1) expect((await rig.sync()).error).toBeNull();
  expect(await rig.query(HELD)).toEqual([{ rows: SIGNALS, sources: 0, unknown: SIGNALS }]);
  // The first mirror has three pages, each later sync reads one.
  expect(pages(service)).toHaveLength(3 + 1 + 2);
  expect(pages(service).filter(({ query }) => query.onlyWithFields !== undefined)).toHaveLength(1);
});

test.each(["default", "named"] as const)(
  "full content that the default response holds is in every row, however few credits the first runs have (sources: %s)",
  async (sources) => {
    const { service, rig } = await start({ fields: { sources, fullContent: "default" } });
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
  const { service, rig } = await start({ fields: { sources: "named" }, before });
  expect((await rig.sync()).error).toBeNull();
  // The first page, of ten rows, came in both forms.
  expect(await rig.query(HELD)).toEqual([{ rows: SIGNALS, sources: SIGNALS, unknown: 10 }]);
  expect(pages(service)).toHaveLength(4);
});

test("changes that need a second page are read although the first page came twice", async () => {
  const { service, rig } = await start({ fields: { sources: "named" } });
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

const page = (length: number, record: object, more: object = {}) => ({
  wanted: ["sources"],
  named: false,
  records: Array.from({ length }, (_, id) => ({ id, ...record })),
  lacks: [],
  perPage: 100,
  ...more,
});
const signals = streamSpec("signals");

test("few records without a value are no proof: more of them are asked for by name again", () => {
  const first = choiceAfter(initialShape(100), signals, page(3, {}));
  expect(first).toMatchObject({ again: true, choice: { byName: ["sources"] } });
  const vain = choiceAfter(first.choice, signals, page(3, {}, { named: true, lacks: ["sources"] }));
  expect(vain).toMatchObject({ again: false, choice: { byName: [], namedInVain: 3 } });
  const later = (length: number) => choiceAfter(vain.choice, signals, page(length, {}, { lacks: ["sources"] })).again;
  expect([later(4), later(6)]).toEqual([false, true]);
});

test("a list of one record a page is asked by name from its second page on: one record without a value proves little", () => {
  const first = choiceAfter(initialShape(100), signals, page(1, {}));
  const vain = choiceAfter(first.choice, signals, page(1, {}, { named: true, lacks: ["sources"] }));
  expect(vain.choice.byName).toEqual([]);
  // The second page shows how small pages are.
  const second = choiceAfter(vain.choice, signals, page(1, {}, { lacks: ["sources"], perPage: 1 }));
  expect(second).toMatchObject({ again: true, choice: { byName: ["sources"] } });
  const third = choiceAfter(second.choice, signals, page(1, {}, { named: true, lacks: ["sources"], perPage: 1 }));
  expect(third.choice.byName).toEqual(["sources"]);
});

test("a list that always names its fields settles the names: no later page comes in both forms", () => {
  const named = choiceAfter(initialShape(100), signals, page(3, { sources: ["a"] }, { named: true }));
  expect(named).toMatchObject({ again: false, choice: { byName: ["sources"] } });
});
