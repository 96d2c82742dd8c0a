// What a first mirror costs while its lists move, and what the next sync makes of it (docs/decisions/paging.md). Shows P8.
import { expect, test } from "vitest";
import { seededRandom } from "../../support/chance.ts";
import { aContact, anOrganization, aSignal, opaque } from "../../support/fake-data.ts";
import { createFakeService, idsOf, type Row } from "../../support/fake-service.ts";
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

type Moves = Partial<Record<"inserts" | "deletes" | "updates", number>>;

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
    for (let nth = 0; nth < (moves.inserts ?? 0); nth++) rows.push(make(++newest, now));
    for (let nth = 0; nth < (moves.deletes ?? 0); nth++) rows.splice(at(), 1);
    for (let nth = 0; nth < (moves.updates ?? 0); nth++) Object.assign(rows[at()] ?? {}, now, { headline: "new" });
  };
  service.answerInstead(({ path }) => {
    if (isMoving && path === `/v1/${stream}`) move();
    return undefined;
  });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: stream }, clock);
  const sync = async () => {
    const { sent, of } = await rig.sync();
    const pages = sent.filter(({ path, status }) => path === `/v1/${stream}` && status === 200).length;
    return { stream: of(stream), pages };
  };
  /** Rows that only one side holds. */
  const differences = () => {
    const [held, listed] = [new Set(rig.ids(stream)), new Set(idsOf(rows))];
    const lacking = [...listed].filter((id) => !held.has(id)).length;
    return { lacking, beyond: [...held].filter((id) => !listed.has(id)).length };
  };
  /** The list moves no more, and so many syncs later the mirror is equal. */
  const comesRest = async (syncs: 1 | 2) => {
    isMoving = false;
    if (syncs === 2) await sync();
    const { stream: last } = await sync();
    expect(rig.ids(stream)).toEqual(idsOf(rows));
    return last;
  };
  return { sync, differences, comesRest };
};

test.each([1, 2, 3])(
  "one row comes and one goes with each page: a first mirror costs its pages and its head (seed %i)",
  async (seed) => {
    const { sync, comesRest } = await moving("signals", { inserts: 1, deletes: 1, updates: 2 }, seed);
    expect((await sync()).pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES));
    expect(await comesRest(2)).toMatchObject({ complete: true, unconfirmed: 0 });
  },
);

test("rows that only come cost the pages that they fill, and the mirror is complete at once", async () => {
  const { sync, comesRest } = await moving("signals", { inserts: 1 }, 4);
  expect((await sync()).pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES) + 1);
  expect((await comesRest(1)).complete).toBe(true);
});

test("rows that go after they were read are counted as unconfirmed, and gone after the next sync", async () => {
  const { sync, differences, comesRest } = await moving("signals", { deletes: 1 }, 5);
  const { stream } = await sync();
  const reason = expect.stringContaining("the service counts");
  expect(stream).toMatchObject({ complete: false, unconfirmed: differences().beyond, reason });
  await comesRest(1);
});

test("contacts of which one comes and one goes with each page: the changes bring what came behind the reader, the rest is counted", async () => {
  for (const seed of [3, 4, 8, 11, 12]) {
    const { sync, differences, comesRest } = await moving("contacts", { inserts: 1, deletes: 1 }, seed, 3);
    const { stream, pages } = await sync();
    const { lacking, beyond } = differences();
    expect({ lacking, ...stream }, `seed ${seed}`).toMatchObject({ lacking: 0, complete: false, unconfirmed: beyond });
    // Pages share a row.
    expect(pages).toBeLessThanOrEqual(Math.ceil(1.35 * PAGES));
    expect(await comesRest(2)).toMatchObject({ complete: true, unconfirmed: 0 });
  }
});

test("signals of which one comes and one goes with each page are never called complete while a row differs", async () => {
  for (const seed of [3, 4, 8, 11, 12]) {
    const { sync, differences, comesRest } = await moving("signals", { inserts: 1, deletes: 1 }, seed, 3);
    const { stream, pages } = await sync();
    const { lacking, beyond } = differences();
    expect(stream.complete, `seed ${seed}`).toBe(lacking + beyond === 0);
    expect(pages).toBeLessThanOrEqual(Math.ceil(1.15 * PAGES) + 1);
    expect(await comesRest(2)).toMatchObject({ complete: true, unconfirmed: 0 });
  }
});

test("a list that rests is read in a moment without a further page, and over a time with one that proves it", async () => {
  const quick = await moving("signals", {}, 1);
  expect(await quick.sync()).toMatchObject({ pages: PAGES, stream: { complete: true } });
  const slow = await moving("signals", {}, 1, 3);
  expect(await slow.sync()).toMatchObject({ pages: PAGES + 1, stream: { complete: true } });
});
