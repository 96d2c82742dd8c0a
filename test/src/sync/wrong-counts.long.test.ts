// Lists that are not what they say: their count is higher than the records that they return, or ends before them, at 10,000, as of
// search engines, or at another number (docs/decisions/end-of-a-list.md); pages of some sizes only, such as 10, 20, 50 and 100, of which no
// two share a row. Shows P20 and P23.
import { expect, test } from "vitest";
import { aJob, aNewsArticle, anOrganization, aSignal } from "../../support/fake-data.ts";
import { counting, createFakeService, type FakeData, type FakeService, idsOf } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { simulatedClock } from "../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const dated = (id: number) => ({ updatedAt: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() });
/** An organization with so many signals. */
const signals = (rows: number) => {
  const data = anOrganization(1);
  data.signals = Array.from({ length: rows }, (_, row) => aSignal(row + 1, dated(row + 1)));
  return data;
};
const LISTS = ["accounts", "contacts", "signals", "news_articles", "job_openings", "earnings_calls", "filings"];

/** Counts so many records more than its lists return. `sync`: one that must not fail. */
const startRig = async (ghosts = 1, data: FakeData = anOrganization(4)) => {
  const counts = { ghosts };
  const service = createFakeService(data, { maxPerPage: 10, overPage: "honest" });
  const rig = await startMemoryRig(counting(service, (count) => count + counts.ghosts));
  const sync = async (request: Parameters<typeof rig.sync>[0] = {}) => {
    const synced = await rig.sync({ streams: LISTS, ...request });
    expect(synced.error).toBeNull();
    return synced;
  };
  return { ...rig, sync, data, counts };
};

test("a gap that a second walk confirms costs nothing more: each later sync asks for changes alone", async () => {
  const { sync } = await startRig();
  const [first, second] = [await sync(), await sync()];
  // The second walk reads each list once; the first read each twice, because rows were missing.
  expect(second.paid).toBeLessThan(first.paid);
  for (let nth = 3; nth <= 5; nth += 1) {
    const { paid, report, of } = await sync();
    // A gap that is known is still a gap.
    expect([paid, report.streams.filter(({ complete }) => complete)]).toEqual([3, []]);
    expect(of("signals").unconfirmed).toBe(1);
  }
});

test("--full still reads every list whole", async () => {
  const { sync } = await startRig();
  for (const _ of [1, 2, 3]) await sync();
  const { sent, report } = await sync({ full: true });
  // The lists of the organization, and four of each company.
  expect(new Set(sent.map(({ path }) => path)).size).toBe(3 + 4 * 4);
  expect(report.streams.filter(({ mode }) => !mode.startsWith("walk"))).toEqual([]);
});

test("a count that moves asks for another walk, which finds a row that changes do not show", async () => {
  const { sync, ids, data } = await startRig();
  for (const _ of [1, 2, 3]) await sync();
  const rows = ids("signals").length;
  data.signals.push(aSignal(9, { updatedAt: "2020-01-01T00:00:00Z" }));
  await sync();
  expect(ids("signals")).toHaveLength(rows + 1);
  expect((await sync()).paid).toBe(3);
});

test("a row of a company's list that is counted before it is returned is mirrored by the next sync", async () => {
  const data = anOrganization(2);
  const openings = Array.from({ length: 25 }, (_, n) => aJob(`j${n}`));
  data.lists.c_1 = { ...data.lists.c_1, "job-openings": openings };
  const { sync, ids, counts, clock } = await startRig(0, data);
  await sync();
  expect((await sync()).paid).toBe(3);
  // A week later the lists are due, and count a record that they do not return yet.
  await clock.sleep(8 * DAY_MS);
  counts.ghosts = 1;
  await sync({ streams: ["job_openings"] });
  counts.ghosts = 0;
  openings.push(aJob("late"));
  await sync({ streams: ["job_openings"] });
  expect(ids("job_openings")).toContain("late");
});

/** A mirror of signals alone. */
const ofSignals = (service: FakeService) =>
  startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" }, simulatedClock());
/** The service, but for each page of these lists behind the fourth it returns this one. */
const showingAgain = (service: FakeService, lists: string, page: string): FakeService => ({
  ...service,
  answer: (path, query) =>
    service.answer(path, path.endsWith(lists) && Number(query.page) > 4 ? { ...query, page } : query),
});

test.each([
  { what: "ends far before its count", rows: 45, from: 1_000 },
  { what: "returns empty pages from a row on", rows: 1_000, from: 40 },
])("a list that $what is not paged through to its count", async ({ rows, from }) => {
  const service = createFakeService(signals(rows), { maxPerPage: 10 });
  const cut: FakeService = {
    ...service,
    answer: (path, query) => {
      const start = (Number(query.page) - 1) * Math.min(10, Number(query.perPage));
      const answer = service.answer(path, query);
      return start < from ? answer : { ...answer, body: { ...Object(answer.body), data: [] } };
    },
  };
  const { sync, ids } = await ofSignals(counting(cut, (count) => count + 1_000 - rows));
  const spent: number[] = [];
  for (let nth = 0; nth < 4; nth += 1) {
    const { error, paid, of } = await sync();
    const held = ids("signals").length;
    const reason = `the mirror holds ${held} rows, the service counts 1,000`;
    expect(error).toBeNull();
    expect(of("signals")).toMatchObject({ complete: false, unconfirmed: 1_000 - held, reason });
    spent.push(paid);
  }
  expect(ids("signals").length).toBeGreaterThanOrEqual(Math.min(rows, from));
  // Pages that were in flight together are paid for; later ones are not requested.
  expect(spent[0]).toBeLessThanOrEqual(45);
  expect(spent[1]).toBeLessThanOrEqual(35);
  expect(spent.slice(2)).toEqual([1, 1]);
});

const CAP = 10_000;

const capped = (service: FakeService, cap = CAP): FakeService => counting(service, (count) => Math.min(cap, count));

test("rows behind a count that ends at 10,000 are read before the list is called complete, and changes cost one credit", async () => {
  const data = signals(CAP + 1_500);
  const { sync, ids } = await ofSignals(capped(createFakeService(data, { maxPerPage: 1_000 })));
  expect((await sync()).error).toBeNull();
  expect(ids("signals")).toHaveLength(CAP + 1_500);
  data.signals.push(aSignal(CAP + 2_000, dated(CAP + 2_000)));
  expect((await sync()).paid).toBe(1);
  expect(ids("signals")).toHaveLength(CAP + 1_501);
});

test.each([
  { rows: 1_000, maxPerPage: 100, credits: 11 },
  { rows: 1_000, maxPerPage: 300, credits: 4 },
  { rows: 999, maxPerPage: 100, credits: 10 },
  { rows: 2_300, maxPerPage: 100, credits: 26 },
  { rows: 2_300, maxPerPage: 300, credits: 9 },
])("$rows rows in pages of $maxPerPage, counted up to 1,000, are all read", async ({ rows, maxPerPage, credits }) => {
  const data = signals(rows);
  const { sync, ids } = await ofSignals(capped(createFakeService(data, { maxPerPage }), 1_000));
  const first = await sync();
  expect([first.complete, ids("signals").length]).toEqual([true, rows]);
  expect(first.paid).toBeLessThanOrEqual(credits);
  data.signals.push(aSignal(5_000, dated(5_000)));
  const second = await sync();
  expect(ids("signals")).toHaveLength(rows + 1);
  if (rows !== 1_000) expect(second.paid).toBe(1);
  expect([(await sync()).paid, ids("signals").length]).toEqual([1, rows + 1]);
});

test("a list whose last pages come again is walked twice, labelled, and not paid for in each further sync", async () => {
  const data = signals(200);
  // So far apart that a look for changes meets one page.
  for (const [nth, signal] of data.signals.entries()) signal.updatedAt = new Date((nth + 1) * 1e9).toISOString();
  const service = createFakeService(data, { maxPerPage: 25, overPage: "honest" });
  const { sync, clock } = await ofSignals(showingAgain(service, "/signals", "4"));
  const paid: number[] = [];
  for (let hour = 0; hour < 5; hour++) {
    const synced = await sync();
    expect(synced.of("signals")).toMatchObject({ complete: false, unconfirmed: 100 });
    paid.push(synced.paid);
    await clock.sleep(3_600_000);
  }
  expect(paid.slice(2)).toEqual([1, 1, 1]);
});

test.each([
  ["come again", "4"],
  ["are the first ones", "1"],
])(
  "a company's list whose last pages %s is walked twice, labelled, and looked at for one request when it is due",
  async (_, again) => {
    const data = anOrganization(1);
    const news = Array.from({ length: 200 }, (_, n) => aNewsArticle(`n${n}`));
    data.lists.c_1 = { ...data.lists.c_1, "news-articles": news };
    const service = createFakeService(data, { maxPerPage: 25, overPage: "honest" });
    const { sync, clock } = await startMemoryRig(
      showingAgain(service, "/news-articles", again),
      { DUCKMIRROR_STREAMS: "accounts,news_articles" },
      simulatedClock(),
    );
    const asked: number[] = [];
    for (const hours of [1, 1, 1, 8 * 24, 8 * 24, 1]) {
      const { sent, of } = await sync();
      expect(of("news_articles")).toMatchObject({ complete: false, unconfirmed: 100 });
      asked.push(sent.filter(({ path }) => path.endsWith("news-articles")).length);
      await clock.sleep(hours * 3_600_000);
    }
    expect(asked.slice(2)).toEqual([0, 0, 1, 1]);
  },
);

test("rows behind a count that is cut off at any number are read where a page shows it, at one credit a page", async () => {
  const { sync, ids } = await ofSignals(capped(createFakeService(signals(430), { maxPerPage: 100 }), 250));
  const { paid, of } = await sync();
  expect(ids("signals")).toHaveLength(430);
  expect(paid).toBeLessThanOrEqual(6);
  expect(of("signals")).toMatchObject({ complete: false, unconfirmed: 180 });
  expect((await sync()).paid).toBe(1);
});

test("a service that refuses the page behind a round count confirms it", async () => {
  const service = createFakeService(signals(1_000), { maxPerPage: 100 });
  service.answerWhere(({ query }) => Number(query.page) > 10, { status: 400, body: { error: "no such page" } });
  const { sync } = await ofSignals(service);
  expect(await sync()).toMatchObject({ error: null, complete: true, paid: 10 });
});

const SIZES = ["10", "20", "50", "100"];
type Query = Readonly<Record<string, string>>;
const isOdd = ({ perPage }: Query) => perPage !== undefined && !SIZES.includes(perPage);

const refusing = (service: FakeService): FakeService => {
  const named = { status: 400, body: { message: "perPage must be one of 10, 20, 50, 100" } };
  service.answerWhere(({ query }) => isOdd(query), named);
  return service;
};

/** Answers in the default size, 20, to every size that it does not take, but for one above the largest. */
const defaulting = (service: FakeService): FakeService => {
  const { maxPerPage = 100 } = service.options;
  const size = (query: Query) => (isOdd(query) && Number(query.perPage) < maxPerPage ? { perPage: "20" } : {});
  return { ...service, answer: (path, query) => service.answer(path, { ...query, ...size(query) }) };
};

// Above one page for each full one: those that were under way in another size when the first of them was answered.
test.each([
  ["refuses", refusing, 100, 0],
  ["answers in its default size to", defaulting, 100, 2],
  ["answers in its default size, which is its largest, to", defaulting, 20, 14],
] as const)("a service that %s other sizes is mirrored whole, and so are its deletes", async (_, kind, size, most) => {
  const data = anOrganization(65);
  const { sync, ids } = await startMemoryRig(kind(createFakeService(data, { maxPerPage: size })), {
    DUCKMIRROR_STREAMS: "accounts,contacts,signals",
  });
  const first = await sync();
  expect(first).toMatchObject({ error: null, complete: true });
  const lists = [data.accounts, data.contacts, data.signals];
  const pages = lists.reduce((sum, { length }) => sum + Math.ceil(length / size), 0);
  expect(first.paid).toBeLessThanOrEqual(pages + most);
  data.contacts.splice(30, 1);
  for (const full of [false, true]) expect(await sync({ full })).toMatchObject({ error: null, complete: true });
  expect(ids("contacts")).toEqual(idsOf(data.contacts));
});

const jobs = (name: string, count: number) => Array.from({ length: count }, (_, at) => aJob(`${name}${at}`));

/** Company 2's first page stops at 50 of its 130 openings, and says so; no later page has that size. */
const cuttingOneList = (service: FakeService): FakeService => {
  const answer: FakeService["answer"] = (path, query) => {
    if (service.log.length > 200) return { status: 401, body: { message: "asked for again and again" } };
    if (path !== "/v1/companies/c_2/job-openings") return service.answer(path, query);
    return service.answer(path, { ...query, perPage: query.perPage === "100" ? "50" : "51" });
  };
  return { ...service, answer };
};

test.each([
  ["refused", refusing, "REQUEST_FAILED"],
  ["answered in the default size", defaulting, undefined],
] as const)(
  "a list whose own pages are smaller is not read again and again where that size is %s",
  async (_, kind, code) => {
    const data = anOrganization(2);
    data.lists.c_1 = { "job-openings": jobs("first", 250) };
    data.lists.c_2 = { "job-openings": jobs("second", 130) };
    const { sync, rows } = await startMemoryRig(cuttingOneList(kind(createFakeService(data, { maxPerPage: 100 }))), {
      DUCKMIRROR_STREAMS: "accounts,job_openings",
    });
    const { error, complete } = (await sync()).of("job_openings");
    expect([error?.split(":")[0], complete]).toEqual([code, code === undefined]);
    const companies = rows("job_openings", "company_id").map(({ company_id: id }) => id);
    const held = ["c_1", "c_2"].map((company) => companies.filter((id) => id === company).length);
    expect(held).toEqual([250, code === undefined ? 130 : 50]);
  },
);
