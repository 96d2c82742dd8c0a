// A service that refuses: its large pages, its deep ones without a word, pages behind a cursor after the list became shorter, the order
// by change date or times in date filters. One other form is tried, what changes is read, and a verdict that ends the run ends it: no
// request follows but those on the wire. Shows P26.
import { describe, expect, test } from "vitest";
import { overlappingPages } from "../../../../src/sync/list/coverage/page-geometry.ts";
import { initialForm, type ListForm } from "../../../../src/sync/list/form.ts";
import { withoutChangeParameters } from "../../../../src/sync/run/negotiate-form.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import {
  createFakeService,
  type FakeAnswer,
  type FakeRequest,
  type FakeService,
} from "../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../support/memory-rig.ts";

// A service that fails at large pages: the list is read in smaller ones, and a passing outage makes no page small.

const failsAbove = (rows: number) => (request: FakeRequest) => Number(request.query.perPage) > rows;
const started = () => startMemoryRig(createFakeService(anOrganization(40)), { DUCKMIRROR_STREAMS: "contacts" });
const sizesOf = (sent: FakeService["log"]) => [...new Set(sent.map(({ query }) => Number(query.perPage)))];

test("a first mirror steps down until a page is answered, and later syncs begin there", async () => {
  const { service, sync } = await started();
  service.answerWhere(failsAbove(120), 500);
  const { error, sent, of } = await sync();
  expect(error).toBeNull();
  expect(of("contacts")).toMatchObject({ complete: true, inserted: 160, credits: 2 });
  expect(sizesOf(sent).slice(0, 4)).toEqual([1000, 500, 250, 100]);
  const next = await sync({ full: true });
  expect([next.error, next.sent.length]).toEqual([null, next.paid]);
});

test("a size that was answered before is given up only when the list fails in a second sync", async () => {
  const { service, sync } = await started();
  await sync();
  service.answerWhere(failsAbove(120), 500);
  const first = await sync({ full: true });
  expect([first.code, sizesOf(first.sent)]).toEqual(["STREAMS_FAILED", [1000]]);
  expect(await sync({ full: true })).toMatchObject({ error: null, complete: true });
  // The outage of one sync that follows changes nothing, and the size is not forgotten by it.
  service.answerWhere(/./, 503);
  await sync({ full: true });
  service.answerInstead(null);
  const last = await sync({ full: true });
  expect([last.error, Math.max(...sizesOf(last.sent))]).toEqual([null, 100]);
});

test("a list that fails in every size is given up after three attempts at each smaller one", async () => {
  const { service, sync } = await started();
  service.answerWhere("/v1/contacts", 500);
  const { code, sent } = await sync({}, { DUCKMIRROR_STREAMS: "accounts,signals,contacts" });
  expect(code).toBe("STREAMS_FAILED");
  const lists = sent.filter(({ path }) => path === "/v1/contacts");
  const tries = sizesOf(lists).map((size) => [
    size,
    lists.filter(({ query }) => Number(query.perPage) === size).length,
  ]);
  expect(tries).toEqual([[1000, 6], ...[500, 250, 100, 50, 25, 20].map((size) => [size, 3])]);
});

// Which refusals of a reading of changes are the fault of its order or of its filter.

const shape: ListForm = { ...initialForm(100), settled: true };
const shapeAfter = (
  { sort = false, perPage = 100, excerpt = "bad request" },
  reading: { ordered?: boolean; filter?: string; accepted?: ListForm },
  before: Partial<ListForm> = {},
) => {
  const refused = { perPage, sort, include: false, content: false, names: false, filters: false };
  const given = { ordered: false, filter: null, accepted: null, ...reading };
  return withoutChangeParameters({ ...shape, ...before }, refused, excerpt, given);
};

describe("the order", () => {
  const ordered = { ordered: true };
  const accepting = { ordered: true, accepted: shape };

  test.each(["sortBy is not allowed", "unknown ORDER"])(
    "is given up for good if a response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ sort: true, excerpt }, ordered)).toEqual({ ...shape, changeOrder: false, settled: false });
    },
  );

  test("is given up for this run if the list was walked without one, or refuses a smaller page than the accepted one", () => {
    const walked = { ...shape, sort: false };
    expect(shapeAfter({ sort: true }, ordered, walked)).toEqual({ ...walked, changeOrder: false });
    expect(shapeAfter({ sort: true, perPage: 50 }, accepting)).toEqual({ ...shape, changeOrder: false });
    expect(shapeAfter({ sort: true }, accepting)).toBeNull();
    const unsettled = { ...accepting, accepted: { ...shape, settled: false } };
    expect(shapeAfter({ sort: true, perPage: 50 }, unsettled)).toBeNull();
  });

  test("is not at fault where it was not sent, or where nothing shows it", () => {
    expect(shapeAfter({ excerpt: "sortBy" }, ordered)).toBeNull();
    expect(shapeAfter({ sort: true }, ordered)).toBeNull();
  });
});

describe("the filter", () => {
  const filter = "changedAfter";

  test.each(["CHANGEDAFTER is unknown", "invalid filter", "no such date"])(
    "is given up for good if a response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ excerpt }, { filter })).toEqual({ ...shape, changeFilter: false, settled: false });
    },
  );

  test("is not named by a word that only contains the letters of date, nor at fault where none was sent", () => {
    expect(shapeAfter({ excerpt: "please update" }, { filter })).toBeNull();
    expect(shapeAfter({ excerpt: "filter" }, {})).toBeNull();
  });

  test("is given up for this run if a smaller page than the accepted one is refused, too", () => {
    const accepting = { filter, accepted: shape };
    expect(shapeAfter({ perPage: 50 }, accepting)).toEqual({ ...shape, changeFilter: false });
    expect(shapeAfter({ perPage: 100 }, accepting)).toBeNull();
  });
});

const OLD = { lastChangeDetectedOn: "2020-01-01T00:00:00.000Z" };

test("a page refused for its depth, without a word about it, costs few refusals a sync, and no page twice", async () => {
  const data = anOrganization(1);
  data.contacts = Array.from({ length: 160 }, (_, row) => aContact(`p_${String(row).padStart(3, "0")}`, OLD));
  const service = createFakeService(data, { maxPerPage: 10 });
  const isDeep = ({ query }: FakeRequest) => Number(query.page) > 1 && Number(query.page) * Number(query.perPage) > 60;
  service.answerWhere(isDeep, 400);
  const env = { DUCKMIRROR_STREAMS: "contacts", DUCKMIRROR_CONCURRENCY: "1" };
  const { sync, ids } = await startMemoryRig(service, env);
  const refusals = () => service.log.filter(({ status, query }) => status === 400 && Number(query.page) > 1).length;
  const first = await sync();
  expect([first.code, ids("contacts").length]).toEqual(["STREAMS_FAILED", 60]);
  // In pages of up to ten that share a row.
  expect([first.paid, refusals()]).toEqual([overlappingPages(60, 10), 3]);
  for (const round of [2, 3]) {
    expect(await sync()).toMatchObject({ paid: 1, complete: false });
    expect(refusals()).toBeLessThanOrEqual(3 + 2 * (round - 1));
  }
  const changed = { lastName: "Renamed", lastChangeDetectedOn: new Date().toISOString() };
  Object.assign(data.contacts[80] ?? {}, changed);
  const full = await sync({ full: true });
  expect([full.paid, full.of("contacts").inserted]).toEqual([1, 1]);
  Object.assign(data.contacts[4] ?? {}, { ...changed, lastName: "Renamed as well" });
  expect((await sync()).of("contacts")).toMatchObject({ updated: 1, complete: false });
  // The walk goes on once its pages are returned.
  service.answerInstead(null);
  expect(await sync()).toMatchObject({ error: null, complete: true });
  expect(ids("contacts")).toHaveLength(160);
});

/** A mirror whose full walk was cut after three pages of signals. */
const cutWalk = async (accounts: number): Promise<MemoryRig> => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  expect((await rig.sync()).error).toBeNull();
  expect((await rig.sync({ full: true }, { DUCKMIRROR_MAX_CREDITS: "3" })).code).toBe("BUDGET_SPENT");
  return rig;
};

const isBehind = (row: number, { query }: FakeRequest) =>
  Number(query.page) > 1 && (Number(query.page) - 1) * Number(query.perPage) >= row;

test.each([400, 404])("the next sync walks from the head where pages behind the end answer %i", async (status) => {
  const { service, sync, ids } = await cutWalk(6);
  service.data.signals.splice(0, 30);
  service.answerWhere((request) => isBehind(service.data.signals.length, request), status);
  expect(await sync({ allowMassDelete: true })).toMatchObject({ error: null, complete: true });
  expect(ids("signals")).toHaveLength(6);
});

test("a service that refuses high pages and parts of a list is asked for one page in each sync, and its cursor stays", async () => {
  const { service, sync } = await cutWalk(8);
  service.answerWhere((request) => request.query.beforeDate !== undefined || isBehind(20, request), 400);
  for (let round = 0; round < 3; round++) expect(await sync()).toMatchObject({ code: "STREAMS_FAILED", paid: 1 });
  service.answerInstead(null);
  // Three pages of the walk were paid for when it was cut.
  expect(await sync()).toMatchObject({ error: null, paid: 4 });
});

test("where it refuses the order by change date as well, each sync reads the list from its head", async () => {
  const { service, sync, rows } = await cutWalk(8);
  const newest = service.data.signals.reduce((a, b) => (Number(b.id) > Number(a.id) ? b : a));
  service.answerInstead((request) => {
    if (request.query.sortBy === "updatedAt") return { status: 400, body: { message: "cannot sort by this field" } };
    return request.query.beforeDate !== undefined || isBehind(20, request) ? { status: 400, body: {} } : undefined;
  });
  for (const headline of ["first change", "second change"]) {
    newest.headline = headline;
    expect((await sync()).code).toBe("STREAMS_FAILED");
    expect(rows("signals", "headline")).toContainEqual({ headline });
  }
});

const LATER = "2026-11-20T00:00:00.000Z";

/** A mirror of a service that from the beginning refuses such requests. */
const aMirror = async (refuses: (request: FakeRequest) => boolean) => {
  const service = createFakeService(anOrganization(8), { maxPerPage: 25 });
  service.answerWhere(refuses, 400);
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  expect((await rig.sync()).error).toBeNull();
  return rig;
};
const sortsByChange = ({ query: { sortBy } }: FakeRequest) =>
  sortBy === "updatedAt" || sortBy === "lastChangeDetectedOn";
const filtersByTime = ({ query }: FakeRequest) => query.lastChangeDetectedAfter?.includes("T") === true;
const refused = (sent: FakeService["log"]) =>
  sent.flatMap(({ path, query, status }) => (status === 400 ? [`${path} ${query.perPage}`] : [])).sort();

test("an order that is refused without a reason costs two refusals, and the list's change is found", async () => {
  const { service, sync, rows } = await aMirror(sortsByChange);
  Object.assign(service.data.accounts[0] ?? {}, { name: "renamed", updatedAt: LATER });
  const { error, sent } = await sync();
  expect(error).toBeNull();
  expect(rows("accounts", "name").filter(({ name }) => name === "renamed")).toHaveLength(1);
  const lists = ["/v1/accounts", "/v1/contacts", "/v1/signals"];
  expect(refused(sent)).toEqual(lists.flatMap((path) => [`${path} 20`, `${path} 25`]));
});

test("contacts of a service that refuses the order and times in filters are walked, and do not fail", async () => {
  const { service, sync, rows } = await aMirror((request) => sortsByChange(request) || filtersByTime(request));
  Object.assign(service.data.contacts[0] ?? {}, { phone: "+33", lastChangeDetectedOn: LATER });
  const { error, of, sent } = await sync();
  expect(error).toBeNull();
  expect(of("contacts")).toMatchObject({ updated: 1, complete: true });
  expect(rows("contacts", "phone").filter(({ phone }) => phone === "+33")).toHaveLength(1);
  expect(refused(sent).filter((line) => line.startsWith("/v1/contacts"))).toHaveLength(4);
});

test("what a refusal names is stored: the next sync asks without it", async () => {
  const { service, sync } = await aMirror(() => false);
  service.answerInstead((request) => {
    if (sortsByChange(request)) return { status: 400, body: { error: `cannot sort by ${request.query.sortBy}` } };
    return filtersByTime(request) ? { status: 400, body: { error: "lastChangeDetectedAfter: invalid" } } : undefined;
  });
  const first = await sync();
  expect([first.error, refused(first.sent).length]).toEqual([null, 4]);
  const second = await sync();
  expect([second.error, refused(second.sent)]).toEqual([null, []]);
});

test("contacts of a service that ignores order and filter are read once a sync, after the sync that shows it", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 25, sort: "ignore", filters: "ignore" });
  const { sync, rows } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "contacts" });
  const { error, complete, paid } = await sync();
  expect([error, complete]).toEqual([null, true]);
  // One page shows that the order is ignored, one that the filter is.
  for (const more of [2, 0]) expect(await sync()).toMatchObject({ error: null, complete: true, paid: paid + more });
  Object.assign(service.data.contacts.at(-1) ?? {}, { lastName: "Renamed", lastChangeDetectedOn: LATER });
  expect(await sync()).toMatchObject({ error: null, complete: true, paid });
  expect(rows("contacts", "last_name").filter(({ last_name: name }) => name === "Renamed")).toHaveLength(1);
});

const verdict = (status: number, after?: string): FakeAnswer => ({
  ...{ status, body: { error: { message: "refused" } } },
  ...(after === undefined ? {} : { headers: { "retry-after": after } }),
});

const VERDICTS = [
  ["401", verdict(401), "CREDENTIALS_REFUSED"],
  ["402", verdict(402), "QUOTA_SPENT"],
  ["429 of a quota", verdict(429, "10800"), "QUOTA_SPENT"],
  ["429 for a year", verdict(429, "31536000"), "RATE_REFUSED"],
] as const;

for (const [status, answer, code] of VERDICTS) {
  for (const inFlight of [1, 8]) {
    test(`${status} with ${inFlight} in flight: no request follows it but those on the wire`, async () => {
      const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
      service.answerWhere(({ number }) => number > 20, answer);
      const { sync } = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: String(inFlight) });
      const { code: ended, report, sent } = await sync();
      expect(ended).toBe(code);
      const answered = sent.filter((entry) => entry.status === answer.status).length;
      expect(answered).toBeGreaterThan(0);
      expect(answered).toBeLessThanOrEqual(inFlight);
      // Each of them stands in the ledger.
      expect(report.requests).toBe(sent.length);
    });
  }
}
