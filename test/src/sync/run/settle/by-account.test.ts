// Rows of a deleted account: the account is asked for by its id, which settles all of its rows.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const ACCOUNTS = 20;
const ROWS = 2_000;
const GONE = 13;

const hours = (nth: number): string => new Date(Date.UTC(2026, 0, 1) + nth * 3_600_000).toISOString();

/** Forty pages of signals and of contacts, scattered over twenty accounts. */
const mirrored = async (options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 50, overPage: "honest", ...options });
  const { data } = service;
  for (let id = 1; id <= ACCOUNTS; id++) data.accounts.push(anAccount(id, { updatedAt: hours(id) }));
  for (let nth = 1; nth <= ROWS; nth++) {
    const accountId = 1 + (nth % ACCOUNTS);
    data.signals.push(aSignal(nth, { accountId, date: hours(nth), updatedAt: hours((nth * 7919) % ROWS) }));
    data.contacts.push(
      aContact(`p_${nth}`, { accountId, inCurrentRoleSince: hours(nth), lastChangeDetectedOn: hours(nth) }),
    );
  }
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" }, simulatedClock());
  await rig.sync();
  const dropAccount = (more: { readonly keepsRows?: boolean } = {}) => {
    data.accounts = data.accounts.filter(({ id }) => id !== GONE);
    if (more.keepsRows === true) return;
    data.signals = data.signals.filter(({ accountId }) => accountId !== GONE);
    data.contacts = data.contacts.filter(({ accountId }) => accountId !== GONE);
  };
  const sync = async () => {
    const before = service.spent();
    const { report } = await rig.sync();
    const isEqual = (["accounts", "contacts", "signals"] as const).every((table) => {
      const held = rig.rows(table, "id").map(({ id }) => String(id));
      return String(held.sort()) === String(data[table].map(({ id }) => String(id)).sort());
    });
    const deleted = Object.fromEntries(report.streams.map((stream) => [stream.stream, stream.deleted]));
    return {
      credits: service.spent() - before,
      isEqual,
      deleted,
      complete: report.streams.every((each) => each.complete),
    };
  };
  return { service, dropAccount, sync };
};

test("an account with a hundred signals and a hundred contacts is deleted: its rows are found at no credit but the proof of 404s", async () => {
  const { dropAccount, sync } = await mirrored();
  const unchanged = await sync();
  dropAccount();
  const { credits, ...found } = await sync();
  expect(found).toEqual({ isEqual: true, complete: true, deleted: { accounts: 1, contacts: 100, signals: 100 } });
  // The accounts are walked (one page). A row of each list that is there answers by its id. Before, both lists were walked: 80 pages.
  expect(credits).toBeLessThanOrEqual(unchanged.credits + 4);
});

test("rows of an account that went stay while their list returns them", async () => {
  const { service, dropAccount, sync } = await mirrored();
  dropAccount({ keepsRows: true });
  service.data.signals = service.data.signals.filter(({ id }) => id !== 1_500);
  const found = await sync();
  expect(found).toMatchObject({ isEqual: true, deleted: { accounts: 1, contacts: 0, signals: 1 } });
});

test("a service that answers 404 for every id deletes nothing that way", async () => {
  const all404 = ({ path }: { readonly path: string }) =>
    /^\/v1\/(?:accounts|signals|contacts)\/[^/]+$/.test(path) ? { status: 404, body: {} } : undefined;
  const { service, dropAccount, sync } = await mirrored();
  dropAccount();
  service.answerInstead(all404);
  // The lists are walked, as each proves by itself what is gone.
  expect((await sync()).credits).toBeGreaterThan(80);
});
