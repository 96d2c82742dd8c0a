// Rows of a deleted account: the account is asked for by its id, which settles all of its rows.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, idsOf } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const ACCOUNTS = 20;
const ROWS = 2_000;
const GONE = 13;
const LISTS = ["accounts", "contacts", "signals"] as const;

const hours = (nth: number): string => new Date(Date.UTC(2026, 0, 1) + nth * 3_600_000).toISOString();

/** Forty pages of signals and of contacts, scattered over twenty accounts. */
const mirrored = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 50, overPage: "honest" });
  const { data } = service;
  for (let id = 1; id <= ACCOUNTS; id++) data.accounts.push(anAccount(id, { updatedAt: hours(id) }));
  for (let nth = 1; nth <= ROWS; nth++) {
    const accountId = 1 + (nth % ACCOUNTS);
    data.signals.push(aSignal(nth, { accountId, date: hours(nth), updatedAt: hours((nth * 7919) % ROWS) }));
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
  const { dropAccount, sync } = await mirrored();
  const unchanged = await sync();
  dropAccount();
  const { paid, ...found } = await sync();
  expect(found).toEqual({ complete: true, deleted: { accounts: 1, contacts: 100, signals: 100 } });
  // The accounts are walked (one page). A row of each list that is there answers by its id. Before, both lists were walked: 80 pages.
  expect(paid).toBeLessThanOrEqual(unchanged.paid + 4);
});

test("rows of an account that went stay while their list returns them", async () => {
  const { service, dropAccount, sync } = await mirrored();
  dropAccount({ keepsRows: true });
  service.data.signals = service.data.signals.filter(({ id }) => id !== 1_500);
  expect(await sync()).toMatchObject({ deleted: { accounts: 1, contacts: 0, signals: 1 } });
});

test("a service that answers 404 for every id deletes nothing that way", async () => {
  const { service, dropAccount, sync } = await mirrored();
  dropAccount();
  service.answerWhere(/^\/v1\/(?:accounts|signals|contacts)\/[^/]+$/, 404);
  // The lists are walked, as each proves by itself what is gone.
  expect((await sync()).paid).toBeGreaterThan(80);
});
