// A list that ends at a search window, behind which pages are empty: labelled, nothing deleted, and not walked in each sync. Shows P20.
import { expect, test } from "vitest";
import { anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeService } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

const WINDOW = 30;
const PAGE = 10;
const now = Date.now();

/** Newer ids changed earlier, so walks and changes meet different rows. */
const signal = (id: number) => aSignal(id, { accountId: 1, updatedAt: new Date(now - id * 1000).toISOString() });

const start = async () => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= 45; id++) data.signals.push(signal(id));
  const service = createFakeService(data, { maxPerPage: PAGE });
  const all = () => service.data.signals.length;
  const window = { open: false };
  service.answerInstead(({ path, query }) => {
    const { page = "1", perPage = "20" } = query;
    const size = Math.min(PAGE, Number(perPage));
    const beyond = (Number(page) - 1) * size >= WINDOW;
    if (window.open || path !== "/v1/signals" || !beyond) return undefined;
    const meta = { page: Number(page), perPage: size, totalCount: all(), totalPages: Math.ceil(all() / size) };
    return { status: 200, body: { data: [], meta } };
  });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  return { service, window, ...rig };
};

const pagesOf = ({ log }: FakeService, from: number) =>
  log.slice(from).filter(({ path }) => path === "/v1/signals").length;

test("an unchanged source costs a page a sync, and its rows stay", async () => {
  const { service, sync, rows } = await start();
  for (const _ of [1, 2]) expect((await sync()).error).toBeNull();
  const held = rows("signals", "id").length;
  for (const _ of [1, 2, 3]) {
    const from = service.log.length;
    const { report, error } = await sync();
    expect(error).toBeNull();
    expect(pagesOf(service, from)).toBe(1);
    const stream = report.streams.find((one) => one.stream === "signals");
    expect(stream).toMatchObject({ complete: false, deleted: 0 });
    expect(stream?.reason).toContain("only");
  }
  expect(rows("signals", "id")).toHaveLength(held);
});

test("a new record comes with the changes; --full walks, and a list that is whole again is complete", async () => {
  const { service, window, sync, rows } = await start();
  for (const _ of [1, 2]) expect((await sync()).error).toBeNull();
  service.data.signals.push(aSignal(100, { accountId: 1, updatedAt: new Date(now + 60_000).toISOString() }));
  expect((await sync()).error).toBeNull();
  expect(rows("signals", "id").some(({ id }) => Number(id) === 100)).toBe(true);
  window.open = true;
  const { report, error } = await sync({ full: true });
  expect(error).toBeNull();
  expect(report.streams.find(({ stream }) => stream === "signals")).toMatchObject({ complete: true, unconfirmed: 0 });
  expect(rows("signals", "id")).toHaveLength(46);
});

const counting = async (countOf: (all: number, page: number) => number, isCut: boolean) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= 80; id++) data.signals.push(aSignal(id, { accountId: 1, updatedAt: hoursAgo(id) }));
  const plain = createFakeService(data, { maxPerPage: PAGE });
  let asked = 0;
  const service: FakeService = {
    ...plain,
    answer: (path, query) => {
      const answer = plain.answer(path, query);
      const body = answer.body as { data?: readonly unknown[]; meta?: Record<string, unknown> };
      if (path !== "/v1/signals" || body.meta?.totalCount === undefined) return answer;
      asked += 1;
      const totalCount = countOf(data.signals.length, asked);
      const from = (Number(query.page ?? "1") - 1) * Number(body.meta.perPage ?? PAGE);
      const rows = isCut ? (body.data ?? []).slice(0, Math.max(0, CUT - from)) : body.data;
      return { ...answer, body: { ...body, data: rows, meta: { ...body.meta, totalCount } } };
    },
  };
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  const signals = async () => {
    const from = plain.log.length;
    const { report, error } = await rig.sync();
    const stream = report.streams.find((one) => one.stream === "signals");
    return { pages: pagesOf(plain, from), code: error?.code ?? null, stream };
  };
  return { ...rig, signals };
};
const CUT = 50;
const hoursAgo = (hours: number) => new Date(now - hours * 3_600_000).toISOString();

test("a list whose count stops at the window, too, is labelled: its rows stay, and no walk is paid for again", async () => {
  // Walks return the newest ids, changes the others, so the mirror holds more rows than the service counts.
  const { signals, rows } = await counting((all) => Math.min(CUT, all), true);
  await signals();
  const second = await signals();
  expect(second).toMatchObject({ code: null, stream: { complete: false, deleted: 0 } });
  expect(second.stream?.reason).toContain("still returns by their ids");
  for (const _ of [1, 2, 3])
    expect(await signals()).toMatchObject({ pages: 1, code: null, stream: { complete: false } });
  expect(rows("signals", "id").length).toBeGreaterThan(CUT);
});

test("a count that varies by three in a hundred is not walked after again and again", async () => {
  const { signals, rows } = await counting((all, nth) => all + ((nth * 7) % 5) - 2, false);
  const costs: number[] = [];
  for (let sync = 0; sync < 12; sync += 1) costs.push((await signals()).pages);
  expect(rows("signals", "id")).toHaveLength(80);
  expect(Math.max(...costs.slice(7))).toBeLessThanOrEqual(2);
  const last = await signals();
  expect(last.stream?.complete).toBe(false);
  expect(last.stream?.reason).toContain("the service's count varies");
});
