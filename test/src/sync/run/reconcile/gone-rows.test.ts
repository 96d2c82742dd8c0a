// Rows that are gone from a list: found by counting its parts, by the account that went, by their ids beside a change of all others; or
// still served by their id: the list decides once two walks lack them. A search window that cuts a list off decides nothing. Shows P3.
import { expect, test } from "vitest";
import { aContact, anAccount, anOrganization, aSignal } from "../../../../support/fake-data.ts";
import {
  createFakeService,
  emptyData,
  type FakeOptions,
  type FakeService,
  idsOf,
} from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const ROWS = 40 * 25;
const iso = (hours: number) => new Date(START + hours * 3_600_000).toISOString();

/** Forty pages of signals, or of contacts, five and a half hours apart, mirrored; each sync after must end equal. */
const mirrored = async (stream: "signals" | "contacts", options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 25, overPage: "honest", ...options });
  for (let id = 1; id <= ROWS; id++) {
    const [date, updatedAt] = [iso(id * 5.5), iso((id * 7919) % ROWS)];
    if (stream === "signals") service.data.signals.push(aSignal(id, { date, updatedAt, createdAt: date }));
    else service.data.contacts.push(aContact(`p_${id}`, { inCurrentRoleSince: date, lastChangeDetectedOn: updatedAt }));
  }
  const { sync, ids, clock } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: stream }, simulatedClock());
  await sync();
  const isEqual = () => String(ids(stream)) === String(idsOf(service.data[stream]));
  /** One row goes; then a sync. */
  const syncWithout = async (at: number) => {
    service.data[stream].splice(at, 1);
    const synced = await sync();
    expect(isEqual()).toBe(true);
    return synced;
  };
  return { sync, syncWithout, isEqual, clock, drop: (at: number) => service.data[stream].splice(at, 1) };
};

test.each([
  ["signal", "signals", { beforeDates: "exclusive" }, 10],
  ["signal", "signals", { beforeDates: "inclusive" }, 10],
  ["signal", "signals", { beforeDates: "whole-day" }, 10],
  ["contact", "contacts", {}, 11],
] as const)(
  "one %s that is gone of %s is found by counting, where a date filter is %j, for %i credits",
  async (_, stream, options, most) => {
    const { syncWithout } = await mirrored(stream, options);
    const { of, paid } = await syncWithout(333);
    expect(of(stream)).toMatchObject({ deleted: 1, complete: true });
    expect(paid).toBeLessThanOrEqual(most);
  },
);

test("a service that ignores its date filters is walked as before, for a count more, and is not asked again at once", async () => {
  const { syncWithout, clock } = await mirrored("signals", { filters: "ignore" });
  const counts = (sent: FakeService["log"]) => sent.filter(({ query }) => query.beforeDate !== undefined).length;
  const first = await syncWithout(333);
  const second = await syncWithout(444);
  expect([counts(first.sent), counts(second.sent), first.paid - second.paid]).toEqual([1, 0, 1]);
  await clock.sleep(2 * DAY_MS);
  expect(counts((await syncWithout(555)).sent)).toBe(1);
});

test("a search that a budget cuts goes on in the next sync, with what was counted", async () => {
  const { sync, syncWithout, isEqual, drop } = await mirrored("signals");
  const whole = await syncWithout(120);
  drop(640);
  let total = 0;
  for (let syncs = 1; !isEqual(); syncs++) {
    const { paid } = await sync({}, { DUCKMIRROR_MAX_CREDITS: "4" });
    total += paid;
    expect(paid).toBeLessThanOrEqual(4);
    expect(syncs).toBeLessThan(6);
  }
  // Each sync reads the changes anew.
  expect(total).toBeLessThanOrEqual(whole.paid + 4);
});

const ACCOUNTS = 20;
const SCATTERED = 2_000;
const GONE = 13;
const LISTS = ["accounts", "contacts", "signals"] as const;

const hours = (nth: number): string => new Date(Date.UTC(2026, 0, 1) + nth * 3_600_000).toISOString();

/** Forty pages of signals and of contacts, scattered over twenty accounts. */
const withAccounts = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 50, overPage: "honest" });
  const { data } = service;
  for (let id = 1; id <= ACCOUNTS; id++) data.accounts.push(anAccount(id, { updatedAt: hours(id) }));
  for (let nth = 1; nth <= SCATTERED; nth++) {
    const accountId = 1 + (nth % ACCOUNTS);
    data.signals.push(aSignal(nth, { accountId, date: hours(nth), updatedAt: hours((nth * 7919) % SCATTERED) }));
    data.contacts.push(
      aContact(`p_${nth}`, { accountId, inCurrentRoleSince: hours(nth), lastChangeDetectedOn: hours(nth) }),
    );
  }
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: LISTS.join(",") }, simulatedClock());
  await rig.sync();
  const dropAccount = (more: { readonly keepsRows?: boolean } = {}) => {
    data.accounts = data.accounts.filter(({ id }) => id !== GONE);
    if (more.keepsRows === true) return;
    data.signals = data.signals.filter(({ accountId }) => accountId !== GONE);
    data.contacts = data.contacts.filter(({ accountId }) => accountId !== GONE);
  };
  const sync = async () => {
    const { report, complete, paid } = await rig.sync();
    for (const list of LISTS) expect(rig.ids(list)).toEqual(idsOf(data[list]));
    return {
      paid,
      complete,
      deleted: Object.fromEntries(report.streams.map(({ stream, deleted }) => [stream, deleted])),
    };
  };
  return { service, dropAccount, sync };
};

test("an account with a hundred signals and a hundred contacts is deleted: its rows are found at no credit but the proof of 404s", async () => {
  const { dropAccount, sync } = await withAccounts();
  const unchanged = await sync();
  dropAccount();
  const { paid, ...found } = await sync();
  expect(found).toEqual({ complete: true, deleted: { accounts: 1, contacts: 100, signals: 100 } });
  // The accounts are walked (one page). A row of each list that is there answers by its id. Before, both lists were walked: 80 pages.
  expect(paid).toBeLessThanOrEqual(unchanged.paid + 4);
});

test("rows of an account that went stay while their list returns them", async () => {
  const { service, dropAccount, sync } = await withAccounts();
  dropAccount({ keepsRows: true });
  service.data.signals = service.data.signals.filter(({ id }) => id !== 1_500);
  expect(await sync()).toMatchObject({ deleted: { accounts: 1, contacts: 0, signals: 1 } });
});

test("a service that answers 404 for every id deletes nothing that way", async () => {
  const { service, dropAccount, sync } = await withAccounts();
  dropAccount();
  service.answerWhere(/^\/v1\/(?:accounts|signals|contacts)\/[^/]+$/, 404);
  // The lists are walked, as each proves by itself what is gone.
  expect((await sync()).paid).toBeGreaterThan(80);
});

/** Of 48 accounts, ten a page, of which some share a row with the page before. */
const PAGES = 7;

/** 50 accounts in pages of 10, mirrored; then every account has another score. */
const rescored = async () => {
  const service = createFakeService(anOrganization(50), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" });
  await rig.sync();
  const later = new Date(Date.now() + 1000).toISOString();
  for (const row of service.data.accounts) Object.assign(row, { mainScore: 7, updatedAt: later });
  const drop = (...ids: readonly number[]) => {
    service.data.accounts = service.data.accounts.filter(({ id }) => !ids.includes(Number(id)));
  };
  /** One more sync: pages of the list, and accounts that were asked for by id, by status. */
  const sync = async () => {
    const { error, sent, of } = await rig.sync();
    expect(error).toBeNull();
    expect(rig.ids("accounts")).toEqual(idsOf(service.data.accounts));
    const count = (path: RegExp, is: number) => sent.filter((one) => path.test(one.path) && one.status === is).length;
    const [gone, there] = [count(BY_ID, 404), count(BY_ID, 200)];
    return { stream: of("accounts"), pages: count(/^\/v1\/accounts$/, 200), gone, there };
  };
  return { service, drop, sync };
};
const BY_ID = /^\/v1\/accounts\/\d+$/;

test("two of fifty that went while all others changed cost a credit, not another reading of the list", async () => {
  const { drop, sync } = await rescored();
  drop(3, 44);
  const { stream, ...sent } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 2, updated: 48 });
  // One that the list returned is asked for, so that the 404s can be believed.
  expect(sent).toEqual({ pages: PAGES, gone: 2, there: 1 });
});

test("an account that moves while the list is read is there when asked for, and one that went is not", async () => {
  const { service, drop, sync } = await rescored();
  let moved = false;
  service.answerInstead(({ path, query }) => {
    if (moved || path !== "/v1/accounts" || query.page !== "2") return undefined;
    moved = true;
    Object.assign(service.data.accounts.at(-1) ?? {}, { updatedAt: new Date(Date.now() + 60_000).toISOString() });
    drop(30);
    return undefined;
  });
  expect((await sync()).stream).toMatchObject({ complete: true, deleted: 1 });
});

test("where nothing can be asked for by id, the list is read again, and its rows are deleted all the same", async () => {
  const { service, drop, sync } = await rescored();
  drop(3);
  service.answerWhere(BY_ID, 404);
  const { stream, pages } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThanOrEqual(2 * PAGES);
});

test("changes that end before the list's end name no row that is gone, so the list is read again", async () => {
  const { service, drop, sync } = await rescored();
  drop(3);
  for (const row of service.data.accounts) if (Number(row.id) <= 25) row.updatedAt = "2026-01-01T00:00:00.000Z";
  const { stream, pages, there } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThan(PAGES);
  expect(there).toBe(0);
});

const LISTED = 60;
const LEFT = 25;

/** A mirror of sixty signals; `unlist`: takes one out of its list, and what its own route answers then. */
const withSixty = async (options: FakeOptions = {}) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= LISTED; id++) data.signals.push(aSignal(id, { accountId: 1 }));
  const service = createFakeService(data, options);
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  expect((await rig.sync()).error).toBeNull();
  const unlist = (status: number, body: unknown) => {
    data.signals = data.signals.filter(({ id }) => id !== LEFT);
    service.answerWhere(`/v1/signals/${LEFT}`, { status, body });
  };
  const walk = (more = {}) => rig.sync({ streams: ["signals"], full: true, ...more });
  return { ...rig, unlist, walk, held: () => rig.ids("signals").length };
};
const ARCHIVED = { data: { ...aSignal(LEFT, { accountId: 1 }), archived: true } };

test("an archived record moves to history when a second walk lacks it, and is not asked for again", async () => {
  const { unlist, walk, held, ids } = await withSixty();
  unlist(200, ARCHIVED);
  // Allowing mass deletes proves nothing of one row.
  expect((await walk({ allowMassDelete: true })).code).toBe("STREAMS_FAILED");
  expect(held()).toBe(LISTED);
  for (const full of [false, true]) {
    const { error, sent } = await walk({ full });
    expect([error, sent.filter(({ path }) => path.startsWith("/v1/signals/"))]).toEqual([null, []]);
  }
  expect([held(), ids("signals").includes(String(LEFT))]).toEqual([LISTED - 1, false]);
});

test("nine contacts that are gone and one that is archived leave together: no row and no credit more after two syncs", async () => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= LISTED; id++) data.contacts.push(aContact(`ct_${id}`, { accountId: 1 }));
  const service = createFakeService(data);
  const { sync, ids } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts" });
  await sync();
  const [archived] = data.contacts.splice(0, 10);
  service.answerWhere(`/v1/contacts/${archived?.id}`, { status: 200, body: { data: archived } });
  await sync();
  expect((await sync()).error).toBeNull();
  for (const _ of [1, 2]) expect(await sync()).toMatchObject({ error: null, paid: 2 });
  expect(ids("contacts")).toHaveLength(LISTED - 10);
});

test.each([
  ["with another record", 200, { data: aSignal(1, { accountId: 1 }) }],
  ["301", 301, { message: "moved" }],
  ["308", 308, { message: "moved" }],
] as const)("a record whose route answers %s was merged into another, and is gone", async (_, status, body) => {
  const { unlist, walk, held } = await withSixty();
  unlist(status, body);
  const { error, of } = await walk();
  expect([error, held()]).toEqual([null, LISTED - 1]);
  expect(of("signals")).toMatchObject({ complete: true, deleted: 1 });
});

test("a 302 by id may be a gateway's for the moment: the row stays until a second walk lacks it", async () => {
  const { unlist, walk, held } = await withSixty();
  unlist(302, "");
  await walk();
  expect(held()).toBe(LISTED);
});

test("without a count, a list that lacks a row which its own route returns is not complete", async () => {
  const { unlist, walk, held } = await withSixty({ totals: false, maxPerPage: 50 });
  unlist(200, ARCHIVED);
  const reason = "the list lacks 1 row, which the service returns by id";
  expect((await walk()).of("signals")).toMatchObject({ complete: false, unconfirmed: 1, reason });
  expect(held()).toBe(LISTED);
});

test("rows behind a search window that the count ends at stay, however often the list is read", async () => {
  const { service, walk, held } = await withSixty({ maxPerPage: 10 });
  const behind = service.data.signals.splice(0, 10);
  service.answerInstead(({ path }) => {
    const row = behind.find(({ id }) => path === `/v1/signals/${id}`);
    return row === undefined ? undefined : { status: 200, body: { data: row } };
  });
  for (const _ of [1, 2, 3, 4]) await walk();
  expect(held()).toBe(LISTED);
});
