// A source that changes while it is read: no walk of it ever adds up, and the mirror says so, and comes right all the same. Shows P9.
import { expect, test } from "vitest";
import { anOrganization, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeRequest, type FakeService, idsOf } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

const later = () => new Date(Date.now() + 60_000).toISOString();
const isWalkedPage = ({ path, query }: FakeRequest) =>
  path === "/v1/signals" && query.page !== "1" && query.sortBy === "id";
const BY_ID = /^\/v1\/signals\/\d+$/;

const dropAccount = (service: FakeService, id: number) => {
  service.data.accounts = service.data.accounts.filter((row) => row.id !== id);
  service.data.signals = service.data.signals.filter((row) => row.accountId !== id);
};

/**
 * A mirror of 12 accounts with 6 signals each. Once it moves, more signals arrive while they are walked than reading the
 * head again can catch up with, and signals that are asked for by id are answered with `byId`.
 */
const aMirror = async ({
  env = {},
  onPage,
}: {
  env?: Record<string, string>;
  onPage?: (page: number) => void;
} = {}) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, {
    DUCKMIRROR_STREAMS: "accounts,signals",
    DUCKMIRROR_CONCURRENCY: "1",
    ...env,
  });
  expect((await rig.sync()).complete).toBe(true);
  let next = 100_000;
  const move = (byId?: number) =>
    service.answerInstead((request) => {
      if (byId !== undefined && BY_ID.test(request.path)) return { status: byId, body: {} };
      if (!isWalkedPage(request)) return undefined;
      for (let n = 0; n < 5; n++) service.data.signals.push(aSignal(++next, { accountId: 1, updatedAt: later() }));
      onPage?.(Number(request.query.page));
      return undefined;
    });
  /** A full sync: what it says of signals, and the signals that it asked for by id. */
  const walk = async (more = {}) => {
    const { of, sent, error } = await rig.sync({ full: true, ...more });
    expect(error).toBeNull();
    return { stream: of("signals"), byId: sent.filter(({ path }) => BY_ID.test(path)).map(({ status }) => status) };
  };
  return { service, rig, move, walk, held: () => rig.ids("signals"), listed: () => idsOf(service.data.signals) };
};

test("signals of accounts that went before a walk of a moving list are asked for by id and deleted, free of charge", async () => {
  const { service, move, walk, held, listed } = await aMirror();
  for (const id of [3, 7]) dropAccount(service, id);
  move();
  const { stream, byId } = await walk();
  expect(stream).toMatchObject({ complete: true, unconfirmed: 0, deleted: 12 });
  expect(held()).toEqual(listed());
  // One row that the walk has met was asked for, so that the 404s could be believed.
  expect(byId.toSorted()).toEqual([200, ...Array(12).fill(404)]);
});

test("rows that go while the list is walked are found in the end, whichever page they stood on", async () => {
  const { service, move, walk, held, listed } = await aMirror({
    onPage: (page) => {
      if (page === 4) dropAccount(service, 12);
      if (page === 5) dropAccount(service, 2);
    },
  });
  move();
  const { stream } = await walk();
  const surplus = held().filter((id) => !listed().includes(id)).length;
  // What is still there too much is what the report says.
  expect(stream).toMatchObject(surplus === 0 ? { complete: true } : { complete: false, unconfirmed: surplus });
  expect((await walk()).stream).toMatchObject({ complete: true, unconfirmed: 0 });
  expect(held()).toEqual(listed());
});

test("where nothing can be asked by id the rows stay, unconfirmed, by their number", async () => {
  const { service, move, walk, held } = await aMirror();
  dropAccount(service, 3);
  move(418);
  for (const _ of [1, 2]) {
    const { stream } = await walk();
    expect(stream).toMatchObject({ complete: false, deleted: 0 });
    expect(stream.unconfirmed).toBeGreaterThanOrEqual(6);
  }
  expect(held().length).toBeGreaterThanOrEqual(72);
});

test("a service that answers 404 for every id deletes nothing: its tier was lowered, or the route is not there", async () => {
  const { service, move, walk } = await aMirror();
  dropAccount(service, 3);
  move(404);
  const reason = expect.stringContaining("prove nothing");
  expect((await walk()).stream).toMatchObject({ complete: false, deleted: 0, reason });
});

test("more than max_delete_share is not asked for, nor deleted, without being allowed", async () => {
  const { service, move, walk } = await aMirror({ env: { DUCKMIRROR_MAX_DELETE_SHARE: "0.1" } });
  for (const id of [3, 7, 9]) dropAccount(service, id);
  service.data.accounts = anOrganization(12).accounts;
  move();
  const { stream, byId } = await walk();
  expect(stream).toMatchObject({ complete: false, deleted: 0 });
  expect(stream.unconfirmed).toBeGreaterThanOrEqual(18);
  expect(byId).toEqual([]);
  expect((await walk({ allowMassDelete: true })).stream).toMatchObject({ complete: true, deleted: 18 });
});

test("a walk that was complete when its run ended asks the service again before it is believed", async () => {
  const { service, rig } = await aMirror();
  // All pages of the accounts are read; the probe of the missing one finds no credits, so the deletion is left over.
  dropAccount(service, 7);
  service.answerWhere("/v1/accounts/7", {
    status: 402,
    body: { error: { code: "quota_exceeded", message: "no credits left" } },
  });
  expect((await rig.sync({ full: true })).error?.exitCode).toBe(4);
  service.answerInstead(null);
  service.data.accounts.push({ ...service.data.accounts[0], id: 900, name: "Came later", updatedAt: later() });
  const { error, of } = await rig.sync({ full: true });
  expect(error).toBeNull();
  expect(of("accounts")).toMatchObject({ complete: true, deleted: 1 });
  expect(rig.ids("accounts")).toEqual(idsOf(service.data.accounts));
});
