// What a first mirror costs while its lists move, and what the next sync makes of it (docs/decisions/paging.md); lists whose reading
// ended before it was through; a record dated far ahead, which hides nothing that changes after it. Shows P8 and P24.
import { expect, test } from "vitest";
import { seededRandom } from "../../support/chance.ts";
import { aContact, anAccount, anOrganization, aSignal, opaque } from "../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeData, idsOf, type Row } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { hurriedClock, simulatedClock } from "../../support/sync-rig.ts";

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

const ONE_CREDIT = { DUCKMIRROR_MAX_CREDITS: "1" };

test("rows that were added above an interrupted first walk are read before it is said to be complete", async () => {
  const rows = 900;
  const data = anOrganization(1);
  const signal = (id: number) => aSignal(id, { updatedAt: new Date(Date.UTC(2026, 9, 1) + id * 60_000).toISOString() });
  data.signals = Array.from({ length: rows }, (_, row) => signal(row + 1));
  const service = createFakeService(data, { maxPerPage: 50, overPage: "clamp" });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  expect((await rig.sync({}, ONE_CREDIT)).code).toBe("BUDGET_SPENT");
  data.signals.push(signal(rows + 400), signal(rows + 402));
  const { error, complete, sent } = await rig.sync();
  expect([error, complete, rig.ids("signals").length]).toEqual([null, true, rows + 2]);
  // The head itself is read again, not the page behind it.
  expect(sent.at(-1)).toMatchObject({ path: "/v1/signals", query: { page: "1", sortBy: "id" } });
});

/** 400 accounts in 17 pages, mirrored; a day later 75 changed, of which a sync of one credit read the first page. */
const halfReadChanges = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 25 });
  service.data.accounts = Array.from({ length: 400 }, (_, at) => anAccount(at + 1));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" }, simulatedClock());
  const { clock } = rig;
  const iso = () => new Date(clock.now()).toISOString();
  expect((await rig.sync()).error).toBeNull();
  await clock.sleep(86_400_000);
  for (const account of service.data.accounts.slice(0, 75))
    Object.assign(account, { name: "renamed", updatedAt: iso() });
  expect((await rig.sync({}, ONE_CREDIT)).code).toBe("BUDGET_SPENT");
  await clock.sleep(86_400_000);
  return { service, rig, iso };
};

test("a reading of changes that ended after its first page goes on a day later, among new rows, without a walk", async () => {
  const { service, rig, iso } = await halfReadChanges();
  const added = [1, 2, 3, 4, 5].map((n) => anAccount(400 + n, { createdAt: iso(), updatedAt: iso() }));
  service.data.accounts.push(...added);
  const { error, sent, of } = await rig.sync();
  expect([error, of("accounts").status]).toEqual([null, "done"]);
  // The rest of the changes and the head.
  expect(sent.length).toBeLessThanOrEqual(6);
  const names = rig.rows("accounts", "name").map(({ name }) => name);
  expect([names.length, names.filter((name) => name === "renamed").length]).toEqual([405, 75]);
});

test("rows that went in between are found by a walk", async () => {
  const { service, rig } = await halfReadChanges();
  service.data.accounts.splice(200, 3);
  expect((await rig.sync()).error).toBeNull();
  expect(rig.rows("accounts")).toHaveLength(397);
});

/** A mirror whose last sync met only refusals. */
const afterOutage = async () => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 5 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  expect((await rig.sync()).error).toBeNull();
  service.answerWhere(/./, 409);
  expect((await rig.sync()).code).toBe("STREAMS_FAILED");
  service.answerInstead(null);
  return { service, rig };
};
const modes = (report: { readonly streams: readonly { readonly mode: string }[] }) =>
  new Set(report.streams.map(({ mode }) => mode));

test("after an outage the next sync looks again, and does not call that a walk", async () => {
  const { rig } = await afterOutage();
  const { report } = await rig.sync();
  expect([report.requests, report.mode, [...modes(report)]]).toEqual([3, "incremental", ["watermark"]]);
});

test("after an outage --full reads each list whole, so a change without a date is found", async () => {
  const { service, rig } = await afterOutage();
  Object.assign(service.data.contacts[7] ?? {}, { email: "new@example.com" });
  const { report, error } = await rig.sync({ full: true });
  expect([error, [...modes(report)]]).toEqual([null, ["walk"]]);
  expect(rig.rows("contacts", "email").filter(({ email }) => email === "new@example.com")).toHaveLength(1);
});

const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

const ROWS = 12;
const DATED_AHEAD = 3;

const DATED = {
  accounts: {
    rows: (data: FakeData) => data.accounts,
    row: (n: number, at: string) => anAccount(n, { updatedAt: at }),
    dated: (at: string) => ({ updatedAt: at, name: "new" }),
    changed: "SELECT count(*)::INT AS n FROM accounts WHERE name = 'new'",
  },
  contacts: {
    rows: (data: FakeData) => data.contacts,
    row: (n: number, at: string) => aContact(`c${n}`, { lastChangeDetectedOn: at }),
    dated: (at: string) => ({ lastChangeDetectedOn: at, currentTitle: "new" }),
    changed: "SELECT count(*)::INT AS n FROM contacts WHERE current_title = 'new'",
  },
} as const;

test.each(["accounts", "contacts"] as const)(
  "of %s, every change behind the first page is mirrored",
  async (stream) => {
    const list = DATED[stream];
    const data = emptyData();
    if (stream === "contacts") data.accounts.push(anAccount(1));
    const rows = list.rows(data);
    for (let n = 1; n <= ROWS; n++) rows.push(list.row(n, n === DATED_AHEAD ? "2099-01-01T00:00:00Z" : ago(30)));
    const rig = await startMemoryRig(createFakeService(data, { maxPerPage: 5 }), { DUCKMIRROR_MAX_PAGE_SIZE: "5" });
    const streams = ["accounts", stream];
    // The second sync reads the changes, whose first page holds the record that is dated ahead.
    for (const _ of [1, 2]) expect((await rig.sync({ streams })).error).toBeNull();
    for (const row of rows.filter((_, index) => index + 1 !== DATED_AHEAD)) Object.assign(row, list.dated(ago(0)));
    expect((await rig.sync({ streams })).error).toBeNull();
    expect(await rig.query(list.changed)).toEqual([{ n: ROWS - 1 }]);
  },
);
