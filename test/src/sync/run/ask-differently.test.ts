// A service that returns no page behind some row, and does not say why: one other form is tried, no ladder of page sizes,
// and what changes before that row is read.
import { describe, expect, test } from "vitest";
import { overlappingPages } from "../../../../src/sync/list/coverage/page-geometry.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { withoutChanges } from "../../../../src/sync/run/ask-differently.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeRequest, type FakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

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

const shape: ListShape = { ...initialShape(100), settled: true };
const shapeAfter = (
  { sort = false, perPage = 100, excerpt = "bad request" },
  reading: { ordered?: boolean; filter?: string; accepted?: ListShape },
  before: Partial<ListShape> = {},
) => {
  const refused = { perPage, sort, include: false, content: false, names: false, filters: false };
  const given = { ordered: false, filter: null, accepted: null, ...reading };
  return withoutChanges({ ...shape, ...before }, refused, excerpt, given);
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
