// Lists whose count is higher than the records that they return (docs/decisions/end-of-a-list.md). Shows P20.
import { expect, test } from "vitest";
import type { Clock } from "../../../src/core/clock.ts";
import { afterTest } from "../../support/after-test.ts";
import { aJob, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeData, type FakeService } from "../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../support/memory-rig.ts";
import { hurriedClock } from "../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const LISTS = ["accounts", "contacts", "signals", "news_articles", "job_openings", "earnings_calls", "filings"];

/** The service, but its lists count `ghosts()` records more than they return. */
const miscounting = (service: FakeService, ghosts: () => number): FakeService => ({
  ...service,
  answer: (path, query) => {
    const answer = service.answer(path, query);
    const { meta, ...body } = answer.body as { meta?: { totalCount?: number } };
    if (meta?.totalCount === undefined || path.startsWith("/v1/usage")) return answer;
    return { ...answer, body: { ...body, meta: { ...meta, totalCount: meta.totalCount + ghosts() } } };
  },
});

const startRig = async (options: { ghosts?: number; data?: FakeData } = {}) => {
  const counts = { ghosts: options.ghosts ?? 1 };
  const data = options.data ?? anOrganization(4);
  const service = createFakeService(data, { maxPerPage: 10, overPage: "honest" });
  const base = hurriedClock();
  let ahead = 0;
  const clock: Clock = { ...base, now: () => base.now() + ahead };
  const rig = await startMemoryRig(
    miscounting(service, () => counts.ghosts),
    {},
    clock,
  );
  afterTest(() => rig.close());
  const pass = (ms: number) => {
    ahead += ms;
  };
  return { rig, data, service, counts, pass };
};

const spentBy = async (rig: MemoryRig, request: Parameters<MemoryRig["sync"]>[0] = {}) => {
  const { error, report } = await rig.sync({ streams: LISTS, ...request });
  expect(error).toBeNull();
  return report;
};

const count = async (rig: MemoryRig, table: string) =>
  (await rig.query(`SELECT count(*)::INTEGER AS n FROM ${table}`))[0]?.n;

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
  const rows = Number(await count(rig, "signals"));
  data.signals.push(aSignal(9, { updatedAt: "2020-01-01T00:00:00Z" }));
  await spentBy(rig);
  expect(await count(rig, "signals")).toBe(rows + 1);
  expect((await spentBy(rig)).credits.spent).toBe(3);
});

test("a row of a company's list that is counted before it is returned is mirrored by the next sync", async () => {
  const data = anOrganization(2);
  const openings = Array.from({ length: 25 }, (_, n) => aJob(`j${n}`));
  data.lists.c_1 = { ...data.lists.c_1, "job-openings": openings };
  const { rig, counts, pass } = await startRig({ ghosts: 0, data });
  await spentBy(rig);
  expect((await spentBy(rig)).credits.spent).toBe(3);
  // A week later the lists are due, and count a record that they do not return yet.
  pass(8 * DAY_MS);
  counts.ghosts = 1;
  await spentBy(rig, { streams: ["job_openings"] });
  counts.ghosts = 0;
  openings.push(aJob("late"));
  await spentBy(rig, { streams: ["job_openings"] });
  expect(await count(rig, "job_openings WHERE id = 'late'")).toBe(1);
});

test.each([
  { what: "ends far before its count", rows: 45, from: 1_000, most: [45, 35] },
  { what: "returns empty pages from a row on", rows: 1_000, from: 40, most: [45, 35] },
])("a list that $what is not paged through to its count", async ({ rows, from, most }) => {
  const data = anOrganization(1);
  const dated = (id: number) => ({ updatedAt: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() });
  data.signals = Array.from({ length: rows }, (_, row) => aSignal(row + 1, dated(row + 1)));
  const service = createFakeService(data, { maxPerPage: 10 });
  const cut: FakeService = {
    ...service,
    answer: (path, query) => {
      const start = (Number(query.page) - 1) * Math.min(10, Number(query.perPage));
      const answer = service.answer(path, query);
      return start < from ? answer : { ...answer, body: { ...Object(answer.body), data: [] } };
    },
  };
  const rig = await startMemoryRig(
    miscounting(cut, () => 1_000 - rows),
    { DUCKMIRROR_STREAMS: "signals" },
  );
  afterTest(() => rig.close());
  const spent: number[] = [];
  for (let sync = 0; sync < 4; sync += 1) {
    const { error, report } = await rig.sync();
    expect(error).toBeNull();
    const held = Number(await count(rig, "signals"));
    expect(report.streams[0]).toMatchObject({
      complete: false,
      unconfirmed: 1_000 - held,
      reason: `the mirror holds ${held} rows, the service counts 1,000`,
    });
    spent.push(report.credits.spent);
  }
  expect(Number(await count(rig, "signals"))).toBeGreaterThanOrEqual(Math.min(rows, from));
  // Pages that were in flight together are paid for; later ones are not requested.
  expect(spent[0]).toBeLessThanOrEqual(most[0] ?? 0);
  expect(spent[1]).toBeLessThanOrEqual(most[1] ?? 0);
  expect(spent.slice(2)).toEqual([1, 1]);
});
