// A service that returns no page behind some row, and does not say why: one other form is tried, no ladder of page sizes,
// and what changes before that row is read.
import { describe, expect, test } from "vitest";
import { overlappingPages } from "../../../../src/sync/list/coverage/page-geometry.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { withoutChanges } from "../../../../src/sync/run/ask-differently.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

// A service that fails at large pages: the list is read in smaller ones, and a passing outage makes no page small.

const CONTACTS = { DUCKMIRROR_STREAMS: "contacts" };
const failAbove = (rows: number) => (request: { readonly query: Readonly<Record<string, string>> }) =>
  Number(request.query.perPage) > rows ? { status: 500, body: { message: "broken" } } : undefined;

const started = async (contacts: number) => {
  const service = createFakeService(anOrganization(contacts / 4));
  const rig = await startMemoryRig(service, CONTACTS);
  const sizes = (from: number) => service.log.slice(from).map(({ query, status }) => [Number(query.perPage), status]);
  return { service, rig, sizes };
};

test("a first mirror steps down until a page is answered, and later syncs begin there", async () => {
  const { service, rig, sizes } = await started(160);
  service.answerInstead(failAbove(120));
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report.streams[0]).toMatchObject({ stream: "contacts", complete: true, inserted: 160, credits: 2 });
  const tried = [...new Set(sizes(0).map(([size]) => size))];
  expect(tried.slice(0, 4)).toEqual([1000, 500, 250, 100]);
  const { length } = service.log;
  expect((await rig.sync({ full: true })).error).toBeNull();
  expect(sizes(length).every(([, status]) => status === 200)).toBe(true);
});

test("a size that was answered before is given up only when the list fails in a second sync", async () => {
  const { service, rig, sizes } = await started(160);
  await rig.sync();
  service.answerInstead(failAbove(120));
  let { length } = service.log;
  expect((await rig.sync({ full: true })).error?.code).toBe("STREAMS_FAILED");
  expect(new Set(sizes(length).map(([size]) => size))).toEqual(new Set([1000]));
  const { error, report } = await rig.sync({ full: true });
  expect([error, report.streams[0]?.complete]).toEqual([null, true]);
  // The outage of one sync that follows changes nothing, and the size is not forgotten by it.
  service.answerInstead(() => ({ status: 503, body: {} }));
  await rig.sync({ full: true });
  service.answerInstead(null);
  ({ length } = service.log);
  expect((await rig.sync({ full: true })).error).toBeNull();
  expect(Math.max(...sizes(length).map(([size]) => size ?? 0))).toBe(100);
});

test("a list that fails in every size is given up after three attempts at each smaller one", async () => {
  const { service, rig } = await started(160);
  service.answerInstead(({ path }) => (path.endsWith("/contacts") ? { status: 500, body: {} } : undefined));
  const { error } = await rig.sync({}, { DUCKMIRROR_STREAMS: "accounts,signals,contacts" });
  expect(error?.code).toBe("STREAMS_FAILED");
  const tries = new Map<number, number>();
  for (const { path, query } of service.log.filter((request) => request.path.endsWith("/contacts"))) {
    expect(path).toBe("/v1/contacts");
    tries.set(Number(query.perPage), (tries.get(Number(query.perPage)) ?? 0) + 1);
  }
  expect([...tries]).toEqual([
    [1000, 6],
    [500, 3],
    [250, 3],
    [100, 3],
    [50, 3],
    [25, 3],
    [20, 3],
  ]);
});

// Which refusals of a reading of changes are the fault of its order or of its filter.

const shape: ListShape = { ...initialShape(100), settled: true };
const shapeAfter = (
  { sort = false, perPage = 100, excerpt = "bad request" },
  reading: { ordered?: boolean; filter?: string | null; accepted?: ListShape | null },
  before: Partial<ListShape> = {},
) => {
  const refused = { perPage, sort, include: false, content: false, names: false, filters: false };
  return withoutChanges({ ...shape, ...before }, refused, excerpt, {
    ordered: false,
    filter: null,
    accepted: null,
    ...reading,
  });
};

describe("the order", () => {
  const ordered = { ordered: true };

  test.each(["sortBy is not allowed", "unknown ORDER"])(
    "is given up for good if the response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ sort: true, excerpt }, ordered)).toEqual({ ...shape, changeOrder: false, settled: false });
    },
  );

  test("is given up for this run if the list was walked without one", () => {
    const walked = { ...shape, sort: false };
    expect(shapeAfter({ sort: true }, ordered, walked)).toEqual({ ...walked, changeOrder: false });
  });

  test("is given up for this run if a smaller page than the accepted one is refused, too", () => {
    expect(shapeAfter({ sort: true, perPage: 50 }, { ...ordered, accepted: shape })).toEqual({
      ...shape,
      changeOrder: false,
    });
    expect(shapeAfter({ sort: true, perPage: 100 }, { ...ordered, accepted: shape })).toBeNull();
    expect(shapeAfter({ sort: true, perPage: 50 }, { ...ordered, accepted: { ...shape, settled: false } })).toBeNull();
  });

  test("is not at fault where it was not sent, or where nothing shows it", () => {
    expect(shapeAfter({ excerpt: "sortBy" }, ordered)).toBeNull();
    expect(shapeAfter({ sort: true }, ordered)).toBeNull();
  });
});

describe("the filter", () => {
  const filtered = { filter: "changedAfter" };

  test.each(["CHANGEDAFTER is unknown", "invalid filter", "no such date"])(
    "is given up for good if the response names it: %s",
    (excerpt) => {
      expect(shapeAfter({ excerpt }, filtered)).toEqual({ ...shape, changeFilter: false, settled: false });
    },
  );

  test("is not named by a word that only contains the letters of date", () => {
    expect(shapeAfter({ excerpt: "please update" }, filtered)).toBeNull();
  });

  test("is given up for this run if a smaller page than the accepted one is refused, too", () => {
    expect(shapeAfter({ perPage: 50 }, { ...filtered, accepted: shape })).toEqual({ ...shape, changeFilter: false });
    expect(shapeAfter({ perPage: 100 }, { ...filtered, accepted: shape })).toBeNull();
  });

  test("is not at fault where the list is read without one", () => {
    expect(shapeAfter({ excerpt: "filter" }, {})).toBeNull();
  });
});

const OLD = { lastChangeDetectedOn: "2020-01-01T00:00:00.000Z" };

test("a page refused for its depth, without a word about it, costs few refusals a sync, and no page twice", async () => {
  const data = anOrganization(1);
  data.contacts = Array.from({ length: 160 }, (_, row) => aContact(`p_${String(row).padStart(3, "0")}`, OLD));
  const service = createFakeService(data, { maxPerPage: 10 });
  service.answerInstead(({ query }) =>
    Number(query.page) * Number(query.perPage) > 60 && Number(query.page) > 1
      ? { status: 400, body: { message: "bad request" } }
      : undefined,
  );
  const env = { DUCKMIRROR_STREAMS: "contacts", DUCKMIRROR_CONCURRENCY: "1" };
  const rig = await startMemoryRig(service, env);
  const refusals = () => service.log.filter(({ status, query }) => status === 400 && Number(query.page) > 1).length;
  const first = await rig.sync();
  expect(first.error?.code).toBe("STREAMS_FAILED");
  expect(rig.rows("contacts")).toHaveLength(60);
  // In pages of up to ten that share a row.
  expect([first.report.credits.spent, refusals()]).toEqual([overlappingPages(60, 10), 3]);
  for (const round of [2, 3]) {
    const { report } = await rig.sync();
    expect(report.credits.spent).toBe(1);
    expect(refusals()).toBeLessThanOrEqual(3 + 2 * (round - 1));
    expect(report.streams[0]).toMatchObject({ stream: "contacts", complete: false });
  }
  const changed = { lastName: "Renamed", lastChangeDetectedOn: new Date().toISOString() };
  Object.assign(data.contacts[80] ?? {}, changed);
  const { report } = await rig.sync({ full: true });
  expect([report.credits.spent, report.streams[0]?.inserted]).toEqual([1, 1]);
  Object.assign(data.contacts[4] ?? {}, { ...changed, lastName: "Renamed as well" });
  expect((await rig.sync()).report.streams[0]).toMatchObject({ updated: 1, complete: false });
  // The walk goes on once its pages are returned.
  service.answerInstead(null);
  const last = await rig.sync();
  expect([last.error, last.report.streams[0]?.complete]).toEqual([null, true]);
  expect(rig.rows("contacts")).toHaveLength(160);
});
