// What a first mirror costs while its lists move, and what the next sync makes of it (docs/decisions/paging.md). Shows P8.
import { expect, test } from "vitest";
import { seededRandom } from "../../support/chance.ts";
import { aContact, anOrganization, aSignal, opaque } from "../../support/fake-data.ts";
import { createFakeService, type Row } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { hurriedClock } from "../../support/sync-rig.ts";

const PER_PAGE = 100;
const PAGES = 15;

/** How a row of the list is made, and the field that holds its change date. */
const LISTS = {
  signals: { make: (nth: number, more: Record<string, unknown>): Row => aSignal(nth, more), date: "updatedAt" },
  contacts: {
    make: (nth: number, more: Record<string, unknown>): Row => aContact(opaque(nth), more),
    date: "lastChangeDetectedOn",
  },
} as const;

interface Moves {
  readonly inserts: number;
  readonly deletes: number;
  readonly updates: number;
}

/** A service one list of which changes with each page of it that is asked for; between two pages `secondsAPage` pass. */
const moving = async (stream: keyof typeof LISTS, moves: Moves, seed: number, secondsAPage = 0) => {
  const random = seededRandom(seed);
  const data = anOrganization(1);
  const { make, date } = LISTS[stream];
  const rows = Array.from({ length: PER_PAGE * PAGES }, (_, nth) =>
    make(nth + 1, { [date]: new Date(Date.UTC(2026, 0, 1) + nth * 60_000).toISOString() }),
  );
  data[stream] = rows;
  let newest = rows.length;
  let isMoving = true;
  let waitedMs = 0;
  const hurried = hurriedClock();
  const clock = { ...hurried, now: () => hurried.now() + waitedMs };
  const service = createFakeService(data, { maxPerPage: PER_PAGE });
  const at = () => Math.floor(random() * rows.length);
  const move = () => {
    waitedMs += secondsAPage * 1000;
    const now = { [date]: new Date(clock.now()).toISOString() };
    for (let nth = 0; nth < moves.inserts; nth++) rows.push(make(++newest, now));
    for (let nth = 0; nth < moves.deletes; nth++) rows.splice(at(), 1);
    for (let nth = 0; nth < moves.updates; nth++) Object.assign(rows[at()] ?? {}, now, { headline: "new" });
  };
  service.answerInstead(({ path }) => {
    if (isMoving && path === `/v1/${stream}`) move();
    return undefined;
  });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: stream }, clock);
  const pages = (from: number) =>
    service.log.slice(from).filter(({ path, status }) => path === `/v1/${stream}` && status === 200).length;
  const ids = (of: readonly Readonly<Record<string, unknown>>[]) => of.map(({ id }) => String(id)).sort();
  return {
    rest: () => {
      isMoving = false;
    },
    sync: async () => {
      const from = service.log.length;
      const { report, error } = await rig.sync();
      return { error, stream: report.streams[0], pages: pages(from) };
    },
    held: () => ids(rig.rows(stream, "id")),
    listed: () => ids(rows),
  };
};

const movingSignals = (moves: Moves, seed: number) => moving("signals", moves, seed);

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

/** Rows that only one side holds. */
const differences = (service: Awaited<ReturnType<typeof moving>>) => {
  const [held, listed] = [new Set(service.held()), new Set(service.listed())];
  const lacking = [...listed].filter((id) => !held.has(id)).length;
  return { lacking, beyond: [...held].filter((id) => !listed.has(id)).length };
};

test("contacts of which one comes and one goes with each page: the changes bring what came behind the reader, the rest is counted", async () => {
  for (const seed of [3, 4, 8, 11, 12]) {
    const service = await moving("contacts", { inserts: 1, deletes: 1, updates: 0 }, seed, 3);
    const first = await service.sync();
    const { lacking, beyond } = differences(service);
    expect({ seed, lacking, ...first.stream }).toMatchObject({
      seed,
      lacking: 0,
      complete: false,
      unconfirmed: beyond,
    });
    // Pages share a row.
    expect(first.pages).toBeLessThanOrEqual(Math.ceil(1.35 * PAGES));
    service.rest();
    await service.sync();
    expect((await service.sync()).stream).toMatchObject({ complete: true, unconfirmed: 0 });
    expect(service.held()).toEqual(service.listed());
  }
});

test("signals of which one comes and one goes with each page are never called complete while a row differs", async () => {
  for (const seed of [3, 4, 8, 11, 12]) {
    const service = await moving("signals", { inserts: 1, deletes: 1, updates: 0 }, seed, 3);
    const first = await service.sync();
    const { lacking, beyond } = differences(service);
    expect({ seed, complete: first.stream?.complete }).toEqual({ seed, complete: lacking + beyond === 0 });
    expect(first.pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES) + 1);
    service.rest();
    await service.sync();
    expect((await service.sync()).stream).toMatchObject({ complete: true, unconfirmed: 0 });
    expect(service.held()).toEqual(service.listed());
  }
});

test("a list that rests is read in a moment without a further page, and over a time with one that proves it", async () => {
  const none = { inserts: 0, deletes: 0, updates: 0 };
  const quick = await moving("signals", none, 1);
  expect(await quick.sync()).toMatchObject({ pages: PAGES, stream: { complete: true } });
  const slow = await moving("signals", none, 1, 3);
  expect(await slow.sync()).toMatchObject({ pages: PAGES + 1, stream: { complete: true } });
});
