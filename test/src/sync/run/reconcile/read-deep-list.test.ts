// Lists deeper than the service returns: read by parts, over several syncs if need be; and lists that end at a search window, behind which
// pages are empty: labelled, nothing deleted, and not walked in each sync. Shows P20.
import { expect, test } from "vitest";
import { anAccount, aSignal } from "../../../../support/fake-data.ts";
import {
  counting,
  createFakeService,
  emptyData,
  type FakeOptions,
  type FakeRequest,
  type FakeService,
} from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const START = Date.UTC(2025, 0, 1);
const SIZE = 100;

/** Signals, of which the service returns the first rows of any list; `hours`: between two of them. */
const deep = async (hours: number, more: FakeOptions = {}, { rows, window } = { rows: 3_000, window: 1_000 }) => {
  const service = createFakeService(emptyData(), { maxPerPage: SIZE, overPage: "honest", ...more });
  for (let id = 1; id <= rows; id++) {
    const date = new Date(START + id * hours * 3_600_000).toISOString();
    service.data.signals.push(aSignal(id, { date, updatedAt: date, createdAt: date }));
  }
  const isDeep = ({ query: { page = "1", perPage = "20" } }: FakeRequest) =>
    Number(page) * Number(perPage) > window && Number(page) > 1;
  service.answerWhere(isDeep, { status: 400, body: { message: "Result window is too large" } });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" }, simulatedClock());
  /** A sync, and how many rows the mirror holds after it. */
  const sync = async (request = {}, env = {}) => {
    const { report, code, complete } = await rig.sync(request, env);
    return { credits: report.credits.spent, code, complete, held: rig.ids("signals").length };
  };
  return { service, sync };
};

test.each(["exclusive", "inclusive", "whole-day"] as const)(
  "a list of 3,000 rows behind a window of 1,000 is read by parts, where a date filter is %s",
  async (beforeDates) => {
    const { service, sync } = await deep(3, { beforeDates });
    const { credits, ...first } = await sync();
    expect(first).toEqual({ code: null, complete: true, held: 3_000 });
    // Ten pages by id; the rest by date, of which each part begins with what is left of a day.
    expect(credits).toBeLessThanOrEqual(36);
    expect(await sync()).toMatchObject({ credits: 1, code: null, complete: true });
    service.data.signals.splice(300, 1);
    const gone = await sync();
    expect(gone).toMatchObject({ complete: true, held: 2_999 });
    expect(gone.credits).toBeLessThanOrEqual(12);
  },
);

test("a budget that ends between two parts: the next sync goes on from there, and pays for no part twice", async () => {
  const { sync } = await deep(3);
  let spent = 0;
  for (let syncs = 1, rows = 0; rows < 3_000; syncs++) {
    const { credits, held } = await sync({}, { DUCKMIRROR_MAX_CREDITS: "12" });
    expect(credits).toBeLessThanOrEqual(12);
    spent += credits;
    rows = held;
    expect(syncs).toBeLessThan(8);
  }
  expect(spent).toBeLessThanOrEqual(56);
  expect(await sync()).toMatchObject({ credits: 1, code: null, complete: true });
});

test.each([
  [
    "where a day has more rows than the service returns, the list stays labelled, and no part is paid for",
    0.001,
    {},
    10,
  ],
  [
    "a service that ignores its date filters costs one credit more, and is not asked again",
    3,
    { filters: "ignore" },
    11,
  ],
] as const)("%s", async (_, hours, options, credits) => {
  const { sync } = await deep(hours, options);
  expect(await sync()).toEqual({ credits, code: "STREAMS_FAILED", complete: false, held: 1_000 });
  expect(await sync()).toMatchObject({ credits: 1, complete: false });
});

test("a difference that reading the parts leaves is labelled, and not paid for again in each sync", async () => {
  // Reading so few pages is cheaper than counting them.
  const { service, sync } = await deep(24, {}, { rows: 500, window: 400 });
  await sync();
  service.data.signals.splice(100, 1);
  await sync({ full: true });
  for (let round = 0; round < 3; round++)
    expect(await sync()).toEqual({ credits: 1, code: null, complete: false, held: 500 });
});

const PAGE = 10;
const now = Date.now();

/** Newer ids changed earlier, so walks and changes meet different rows; `apartMs`: between two changes. */
const aService = (rows: number, apartMs: number): FakeService => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= rows; id++)
    data.signals.push(aSignal(id, { accountId: 1, updatedAt: new Date(now - id * apartMs).toISOString() }));
  return createFakeService(data, { maxPerPage: PAGE });
};

/** A mirror of a service; `signals`: one sync, and its pages of signals. */
const mirrored = async (service: FakeService, env: Readonly<Record<string, string>> = {}) => {
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals", ...env });
  const signals = async (request = {}) => {
    const { error, sent, of } = await rig.sync(request);
    expect(error).toBeNull();
    return { pages: sent.filter(({ path }) => path === "/v1/signals").length, stream: of("signals") };
  };
  return { service, signals, ids: rig.ids };
};

/** The service returns no signal behind this row, until the window is open. */
const endAt = (service: FakeService, row: number) => {
  const window = { open: false };
  service.answerInstead(({ path, query }) => {
    const page = Number(query.page ?? 1);
    const perPage = Math.min(PAGE, Number(query.perPage ?? 20));
    if (window.open || path !== "/v1/signals" || (page - 1) * perPage < row) return undefined;
    const { length: totalCount } = service.data.signals;
    return {
      status: 200,
      body: { data: [], meta: { page, perPage, totalCount, totalPages: Math.ceil(totalCount / perPage) } },
    };
  });
  return window;
};

/** A mirror after two syncs of such a service. */
const behindWindow = async () => {
  const service = aService(45, 1_000);
  const window = endAt(service, 30);
  const mirror = await mirrored(service);
  for (const _ of [1, 2]) await mirror.signals();
  return { ...mirror, window };
};

test("an unchanged source costs a page a sync, and its rows stay", async () => {
  const { signals, ids } = await behindWindow();
  const held = ids("signals");
  for (const _ of [1, 2, 3]) {
    const reason = expect.stringContaining("only");
    expect(await signals()).toMatchObject({ pages: 1, stream: { complete: false, deleted: 0, reason } });
  }
  expect(ids("signals")).toEqual(held);
});

test("a new record comes with the changes; --full walks, and a list that is whole again is complete", async () => {
  const { service, window, signals, ids } = await behindWindow();
  service.data.signals.push(aSignal(100, { accountId: 1, updatedAt: new Date(now + 60_000).toISOString() }));
  await signals();
  expect(ids("signals")).toContain("100");
  window.open = true;
  expect((await signals({ full: true })).stream).toMatchObject({ complete: true, unconfirmed: 0 });
  expect(ids("signals")).toHaveLength(46);
});

test("a list whose count stops at the window, too, is labelled: its rows stay, and no walk is paid for again", async () => {
  // Walks return the newest ids, changes the others, so the mirror holds more rows than the service counts.
  const service = aService(80, 3_600_000);
  endAt(service, 50);
  const { signals, ids } = await mirrored(counting(service, (all) => Math.min(50, all)));
  await signals();
  const reason = expect.stringContaining("still returns by their ids");
  expect((await signals()).stream).toMatchObject({ complete: false, deleted: 0, reason });
  for (const _ of [1, 2, 3]) expect(await signals()).toMatchObject({ pages: 1, stream: { complete: false } });
  expect(ids("signals").length).toBeGreaterThan(50);
});

test.each([
  ["goes on from sync to sync", null],
  // So each walk ends on the count that agrees with the mirror, and the next look finds another.
  ["is the same in each sync", 1],
])("a count that varies by three in a hundred and %s is not walked after again and again", async (_, begin) => {
  let nth = 0;
  const varying = counting(aService(80, 3_600_000), (all, path) =>
    path === "/v1/signals" ? all + ((++nth * 7) % 5) - 2 : all,
  );
  const { signals, ids } = await mirrored(varying, { DUCKMIRROR_CONCURRENCY: "1" });
  const costs: number[] = [];
  for (let sync = 0; sync < 12; sync += 1) {
    nth = begin ?? nth;
    costs.push((await signals()).pages);
  }
  expect(ids("signals")).toHaveLength(80);
  expect(Math.max(...costs.slice(7))).toBeLessThanOrEqual(2);
  const reason = expect.stringContaining("the service's count varies");
  expect((await signals()).stream).toMatchObject({ complete: false, reason });
});
