// Services that count no further than 10,000, as search engines do by default, or than another round number
// (docs/decisions/end-of-a-list.md).
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const CAP = 10_000;

const capped = (service: FakeService, cap = CAP): FakeService => ({
  ...service,
  answer: (path, query) => {
    const answer = service.answer(path, query);
    const { meta, ...body } = answer.body as { meta?: { totalCount?: number } };
    if (meta?.totalCount === undefined) return answer;
    return { ...answer, body: { ...body, meta: { ...meta, totalCount: Math.min(cap, meta.totalCount) } } };
  },
});

const dated = (id: number) => ({ updatedAt: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() });
const signals = (rows: number) => {
  const data = anOrganization(1);
  data.signals = Array.from({ length: rows }, (_, row) => aSignal(row + 1, dated(row + 1)));
  return data;
};

test("rows behind a count that ends at 10,000 are read before the list is called complete, and changes cost one credit", async () => {
  const data = signals(CAP + 1_500);
  const service = createFakeService(data, { maxPerPage: 1_000 });
  const rig = await startMemoryRig(capped(service), { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const count = async () => (await rig.query("SELECT count(*)::INTEGER AS n FROM signals"))[0]?.n;
  const first = await rig.sync();
  expect(first.error).toBeNull();
  expect(await count()).toBe(CAP + 1_500);
  data.signals.push(aSignal(CAP + 2_000, dated(CAP + 2_000)));
  const second = await rig.sync();
  expect(await count()).toBe(CAP + 1_501);
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
  afterTest(() => rig.close());
  const count = async () => (await rig.query("SELECT count(*)::INTEGER AS n FROM signals"))[0]?.n;
  const first = await rig.sync();
  expect(await count()).toBe(rows);
  expect(first.report.credits.spent).toBeLessThanOrEqual(credits);
  expect(first.report.streams[0]?.complete).toBe(true);
  data.signals.push(aSignal(5_000, dated(5_000)));
  const second = await rig.sync();
  expect(await count()).toBe(rows + 1);
  if (rows !== 1_000) expect(second.report.credits.spent).toBe(1);
  const third = await rig.sync();
  expect([await count(), third.report.credits.spent]).toEqual([rows + 1, 1]);
});

test("rows behind a count that is cut off at any number are read where a page shows it, at one credit a page", async () => {
  const service = createFakeService(signals(430), { maxPerPage: 100 });
  const rig = await startMemoryRig(capped(service, 250), { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const first = await rig.sync();
  expect(await rig.query("SELECT count(*)::INTEGER AS n FROM signals")).toEqual([{ n: 430 }]);
  expect(first.report.credits.spent).toBeLessThanOrEqual(6);
  expect(first.report.streams[0]).toMatchObject({ complete: false, unconfirmed: 180 });
  expect((await rig.sync()).report.credits.spent).toBe(1);
});

test("a service that refuses the page behind a round count confirms it", async () => {
  const service = createFakeService(signals(1_000), { maxPerPage: 100 });
  const strict: FakeService = {
    ...service,
    answer: (path, query) =>
      Number(query.page) > 10 ? { status: 400, body: { error: "no such page" } } : service.answer(path, query),
  };
  const rig = await startMemoryRig(strict, { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report).toMatchObject({ credits: { spent: 10 }, streams: [{ complete: true }] });
});
