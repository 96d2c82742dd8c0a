// Lists whose count is higher than the records that they return, or ends before them: at 10,000, as of search engines, or at
// another number (docs/decisions/end-of-a-list.md). Shows P20.
import { expect, test } from "vitest";
import { aJob, anOrganization, aSignal } from "../../support/fake-data.ts";
import { counting, createFakeService, type FakeData, type FakeService } from "../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../support/memory-rig.ts";
import { hurriedClock } from "../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const dated = (id: number) => ({ updatedAt: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() });
/** An organization with so many signals. */
const signals = (rows: number) => {
  const data = anOrganization(1);
  data.signals = Array.from({ length: rows }, (_, row) => aSignal(row + 1, dated(row + 1)));
  return data;
};
const LISTS = ["accounts", "contacts", "signals", "news_articles", "job_openings", "earnings_calls", "filings"];

const startRig = async (options: { ghosts?: number; data?: FakeData } = {}) => {
  const counts = { ghosts: options.ghosts ?? 1 };
  const data = options.data ?? anOrganization(4);
  const service = createFakeService(data, { maxPerPage: 10, overPage: "honest" });
  const clock = hurriedClock();
  const rig = await startMemoryRig(
    counting(service, (count) => count + counts.ghosts),
    {},
    clock,
  );
  return { rig, data, service, counts, clock };
};

const spentBy = async (rig: MemoryRig, request: Parameters<MemoryRig["sync"]>[0] = {}) => {
  const { error, report } = await rig.sync({ streams: LISTS, ...request });
  expect(error).toBeNull();
  return report;
};

test("a gap that a second walk confirms costs nothing more: each later sync asks for changes alone", async () => {
  const { rig } = await startRig();
  const first = await spentBy(rig);
  const second = await spentBy(rig);
  // The second walk reads each list once; the first read each twice, because rows were missing.
  expect(second.credits.spent).toBeLessThan(first.credits.spent);
  for (let sync = 3; sync <= 5; sync += 1) {
    const { credits, streams } = await spentBy(rig);
    expect(credits.spent).toBe(3);
    // A gap that is known is still a gap.
    expect(streams.map(({ complete }) => complete)).toEqual(LISTS.map(() => false));
    expect(streams.find(({ stream }) => stream === "signals")).toMatchObject({ unconfirmed: 1 });
  }
});

test("--full still reads every list whole", async () => {
  const { rig, service } = await startRig();
  for (let sync = 0; sync < 3; sync += 1) await spentBy(rig);
  const earlier = service.log.length;
  const { streams } = await spentBy(rig, { full: true });
  const asked = new Set(service.log.slice(earlier).map(({ path }) => path));
  // The lists of the organization, and four of each company.
  expect(asked.size).toBe(3 + 4 * 4);
  expect(streams.every(({ mode }) => mode.startsWith("walk"))).toBe(true);
});

test("a count that moves asks for another walk, which finds a row that changes do not show", async () => {
  const { rig, data } = await startRig();
  for (let sync = 0; sync < 3; sync += 1) await spentBy(rig);
  const rows = rig.rows("signals").length;
  data.signals.push(aSignal(9, { updatedAt: "2020-01-01T00:00:00Z" }));
  await spentBy(rig);
  expect(rig.rows("signals").length).toBe(rows + 1);
  expect((await spentBy(rig)).credits.spent).toBe(3);
});

test("a row of a company's list that is counted before it is returned is mirrored by the next sync", async () => {
  const data = anOrganization(2);
  const openings = Array.from({ length: 25 }, (_, n) => aJob(`j${n}`));
  data.lists.c_1 = { ...data.lists.c_1, "job-openings": openings };
  const { rig, counts, clock } = await startRig({ ghosts: 0, data });
  await spentBy(rig);
  expect((await spentBy(rig)).credits.spent).toBe(3);
  // A week later the lists are due, and count a record that they do not return yet.
  await clock.sleep(8 * DAY_MS);
  counts.ghosts = 1;
  await spentBy(rig, { streams: ["job_openings"] });
  counts.ghosts = 0;
  openings.push(aJob("late"));
  await spentBy(rig, { streams: ["job_openings"] });
  expect(rig.rows("job_openings", "id")).toContainEqual({ id: "late" });
});

test.each([
  { what: "ends far before its count", rows: 45, from: 1_000, most: [45, 35] },
  { what: "returns empty pages from a row on", rows: 1_000, from: 40, most: [45, 35] },
])("a list that $what is not paged through to its count", async ({ rows, from, most }) => {
  const service = createFakeService(signals(rows), { maxPerPage: 10 });
  const cut: FakeService = {
    ...service,
    answer: (path, query) => {
      const start = (Number(query.page) - 1) * Math.min(10, Number(query.perPage));
      const answer = service.answer(path, query);
      return start < from ? answer : { ...answer, body: { ...Object(answer.body), data: [] } };
    },
  };
  const rig = await startMemoryRig(
    counting(cut, (count) => count + 1_000 - rows),
    { DUCKMIRROR_STREAMS: "signals" },
  );
  const spent: number[] = [];
  for (let sync = 0; sync < 4; sync += 1) {
    const { error, report } = await rig.sync();
    expect(error).toBeNull();
    const held = rig.rows("signals").length;
    expect(report.streams[0]).toMatchObject({
      complete: false,
      unconfirmed: 1_000 - held,
      reason: `the mirror holds ${held} rows, the service counts 1,000`,
    });
    spent.push(report.credits.spent);
  }
  expect(rig.rows("signals").length).toBeGreaterThanOrEqual(Math.min(rows, from));
  // Pages that were in flight together are paid for; later ones are not requested.
  expect(spent[0]).toBeLessThanOrEqual(most[0] ?? 0);
  expect(spent[1]).toBeLessThanOrEqual(most[1] ?? 0);
  expect(spent.slice(2)).toEqual([1, 1]);
});

const CAP = 10_000;

const capped = (service: FakeService, cap = CAP): FakeService => counting(service, (count) => Math.min(cap, count));

test("rows behind a count that ends at 10,000 are read before the list is called complete, and changes cost one credit", async () => {
  const data = signals(CAP + 1_500);
  const service = createFakeService(data, { maxPerPage: 1_000 });
  const rig = await startMemoryRig(capped(service), { DUCKMIRROR_STREAMS: "signals" });
  const first = await rig.sync();
  expect(first.error).toBeNull();
  expect(rig.rows("signals")).toHaveLength(CAP + 1_500);
  data.signals.push(aSignal(CAP + 2_000, dated(CAP + 2_000)));
  const second = await rig.sync();
  expect(rig.rows("signals")).toHaveLength(CAP + 1_501);
  expect(second.report.credits.spent).toBe(1);
});

test.each([
  { rows: 1_000, maxPerPage: 100, credits: 11 },
  { rows: 1_000, maxPerPage: 300, credits: 4 },
  { rows: 999, maxPerPage: 100, credits: 10 },
  { rows: 2_300, maxPerPage: 100, credits: 26 },
  { rows: 2_300, maxPerPage: 300, credits: 9 },
])("$rows rows in pages of $maxPerPage, counted up to 1,000, are all read", async ({ rows, maxPerPage, credits }) => {
  const data = signals(rows);
  const service = createFakeService(data, { maxPerPage });
  const rig = await startMemoryRig(capped(service, 1_000), { DUCKMIRROR_STREAMS: "signals" });
  const first = await rig.sync();
  expect(rig.rows("signals")).toHaveLength(rows);
  expect(first.report.credits.spent).toBeLessThanOrEqual(credits);
  expect(first.report.streams[0]?.complete).toBe(true);
  data.signals.push(aSignal(5_000, dated(5_000)));
  const second = await rig.sync();
  expect(rig.rows("signals")).toHaveLength(rows + 1);
  if (rows !== 1_000) expect(second.report.credits.spent).toBe(1);
  const third = await rig.sync();
  expect([rig.rows("signals").length, third.report.credits.spent]).toEqual([rows + 1, 1]);
});

test("rows behind a count that is cut off at any number are read where a page shows it, at one credit a page", async () => {
  const service = createFakeService(signals(430), { maxPerPage: 100 });
  const rig = await startMemoryRig(capped(service, 250), { DUCKMIRROR_STREAMS: "signals" });
  const first = await rig.sync();
  expect(rig.rows("signals")).toHaveLength(430);
  expect(first.report.credits.spent).toBeLessThanOrEqual(6);
  expect(first.report.streams[0]).toMatchObject({ complete: false, unconfirmed: 180 });
  expect((await rig.sync()).report.credits.spent).toBe(1);
});

test("a service that refuses the page behind a round count confirms it", async () => {
  const service = createFakeService(signals(1_000), { maxPerPage: 100 });
  service.answerInstead(({ query }) =>
    Number(query.page) > 10 ? { status: 400, body: { error: "no such page" } } : undefined,
  );
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report).toMatchObject({ credits: { spent: 10 }, streams: [{ complete: true }] });
});
