// A record dated far ahead, as by a typing error, does not hide what changes after it. Shows P24.
import { expect, test } from "vitest";
import { aContact, anAccount } from "../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeData } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

const ROWS = 12;
const DATED_AHEAD = 3;

const LISTS = {
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
    const list = LISTS[stream];
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
