// Lists deeper than the service returns, as one behind a search window of 1,000 rows: read by parts, over several syncs if need be.
import { expect, test } from "vitest";
import { aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeRequest } from "../../../../support/fake-service.ts";
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
