// A list that ends at a search window, behind which pages are empty: labelled, nothing deleted, and not walked in each sync. Shows P20.
import { expect, test } from "vitest";
import { anAccount, aSignal } from "../../../../support/fake-data.ts";
import { changing, createFakeService, emptyData, type FakeService } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

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
const mirrored = async (service: FakeService) => {
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  const signals = async (request = {}) => {
    const { error, sent, of } = await rig.sync(request);
    expect(error).toBeNull();
    return { pages: sent.filter(({ path }) => path === "/v1/signals").length, stream: of("signals") };
  };
  return { service, signals, ids: rig.ids };
};

/** A mirror after two syncs of a service that returns no signal behind row 30, until the window is open. */
const behindWindow = async () => {
  const service = aService(45, 1_000);
  const window = { open: false };
  service.answerInstead(({ path, query }) => {
    const page = Number(query.page ?? 1);
    const perPage = Math.min(PAGE, Number(query.perPage ?? 20));
    if (window.open || path !== "/v1/signals" || (page - 1) * perPage < 30) return undefined;
    const { length: totalCount } = service.data.signals;
    return {
      status: 200,
      body: { data: [], meta: { page, perPage, totalCount, totalPages: Math.ceil(totalCount / perPage) } },
    };
  });
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

/** The service, but it counts what `countOf` makes of the rows and the number of its answers, and returns `most` rows. */
const counting = (
  service: FakeService,
  countOf: (all: number, nth: number) => number,
  most = Infinity,
): FakeService => {
  let asked = 0;
  return changing(service, (path, answer) => {
    const body = answer.body as { data?: readonly unknown[]; meta?: Record<string, unknown> };
    if (path !== "/v1/signals" || body.meta?.totalCount === undefined) return answer;
    const totalCount = countOf(service.data.signals.length, ++asked);
    const from = (Number(body.meta.page) - 1) * Number(body.meta.perPage ?? PAGE);
    const data = (body.data ?? []).slice(0, Math.max(0, most - from));
    return { ...answer, body: { ...body, data, meta: { ...body.meta, totalCount } } };
  });
};

test("a list whose count stops at the window, too, is labelled: its rows stay, and no walk is paid for again", async () => {
  // Walks return the newest ids, changes the others, so the mirror holds more rows than the service counts.
  const { signals, ids } = await mirrored(counting(aService(80, 3_600_000), (all) => Math.min(50, all), 50));
  await signals();
  const reason = expect.stringContaining("still returns by their ids");
  expect((await signals()).stream).toMatchObject({ complete: false, deleted: 0, reason });
  for (const _ of [1, 2, 3]) expect(await signals()).toMatchObject({ pages: 1, stream: { complete: false } });
  expect(ids("signals").length).toBeGreaterThan(50);
});

test("a count that varies by three in a hundred is not walked after again and again", async () => {
  const { signals, ids } = await mirrored(counting(aService(80, 3_600_000), (all, nth) => all + ((nth * 7) % 5) - 2));
  const costs: number[] = [];
  for (let sync = 0; sync < 12; sync += 1) costs.push((await signals()).pages);
  expect(ids("signals")).toHaveLength(80);
  expect(Math.max(...costs.slice(7))).toBeLessThanOrEqual(2);
  const reason = expect.stringContaining("the service's count varies");
  expect((await signals()).stream).toMatchObject({ complete: false, reason });
});
