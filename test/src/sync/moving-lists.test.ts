// What a first mirror costs while its lists move, and what the next sync makes of it (docs/decisions/paging.md).
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { seededRandom } from "../../support/sync-rig.ts";

const PER_PAGE = 100;
const PAGES = 15;

/** A service whose signals change with each page of them that is asked for. */
const movingSignals = async (moves: { inserts: number; deletes: number; updates: number }, seed: number) => {
  const random = seededRandom(seed);
  const data = anOrganization(1);
  data.signals = Array.from({ length: PER_PAGE * PAGES }, (_, nth) =>
    aSignal(nth + 1, { updatedAt: new Date(Date.UTC(2026, 0, 1) + nth * 60_000).toISOString() }),
  );
  let newest = data.signals.length;
  let moving = true;
  const service = createFakeService(data, { maxPerPage: PER_PAGE });
  const at = () => Math.floor(random() * data.signals.length);
  const move = () => {
    const updatedAt = new Date().toISOString();
    for (let nth = 0; nth < moves.inserts; nth++) data.signals.push(aSignal(++newest, { updatedAt }));
    for (let nth = 0; nth < moves.deletes; nth++) data.signals.splice(at(), 1);
    for (let nth = 0; nth < moves.updates; nth++)
      Object.assign(data.signals[at()] ?? {}, { updatedAt, headline: "new" });
  };
  service.options = {
    ...service.options,
    before: ({ path }) => {
      if (moving && path === "/v1/signals") move();
      return undefined;
    },
  };
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const pages = (from: number) =>
    service.log.slice(from).filter(({ path, status }) => path === "/v1/signals" && status === 200).length;
  const ids = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map(({ id }) => Number(id)).sort();
  return {
    rest: () => {
      moving = false;
    },
    sync: async () => {
      const from = service.log.length;
      const { report, error } = await rig.sync();
      return { error, stream: report.streams[0], pages: pages(from) };
    },
    held: () => ids(rig.rows("signals", "id")),
    listed: () => ids(data.signals),
  };
};

test.each([1, 2, 3])(
  "one row comes and one goes with each page: a first mirror costs its pages and its head (seed %i)",
  async (seed) => {
    const service = await movingSignals({ inserts: 1, deletes: 1, updates: 2 }, seed);
    const first = await service.sync();
    expect(first.pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES));
    service.rest();
    await service.sync();
    expect((await service.sync()).stream).toMatchObject({ complete: true, unconfirmed: 0 });
    expect(service.held()).toEqual(service.listed());
  },
);

test("rows that only come cost the pages that they fill, and the mirror is complete at once", async () => {
  const service = await movingSignals({ inserts: 1, deletes: 0, updates: 0 }, 4);
  const first = await service.sync();
  service.rest();
  expect(first.pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES) + 1);
  expect((await service.sync()).stream).toMatchObject({ complete: true });
  expect(service.held()).toEqual(service.listed());
});

test("rows that go after they were read are counted as unconfirmed, and gone after the next sync", async () => {
  const service = await movingSignals({ inserts: 0, deletes: 1, updates: 0 }, 5);
  const first = await service.sync();
  service.rest();
  const beyond = service.held().length - service.listed().length;
  expect(first.stream).toMatchObject({ complete: false, unconfirmed: beyond });
  expect(first.stream?.reason).toContain("the service counts");
  await service.sync();
  expect(service.held()).toEqual(service.listed());
});
