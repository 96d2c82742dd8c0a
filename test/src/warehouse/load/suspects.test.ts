// Rows that were probably deleted, the most probable first.
import { expect, test } from "vitest";
import {
  findMet,
  findSuspects,
  readRowsBetween,
  readRowsByAccount,
  readRowsPerDay,
} from "../../../../src/warehouse/load/suspects.ts";
import { aCheckpoint, aLoad, aSignal, aState, aWarehouse, T0 } from "../builders.ts";

test("rows that the walk did not return come first, those missed twice before them; orphans last", async () => {
  const { database, commit } = await aWarehouse();
  const account = { id: 1, organizationId: "org", name: "Acme" };
  const signal = (id: number, accountId = 1) => aSignal(id, { accountId });
  const load = (walkId: string, ids: readonly number[], receivedAt: number) =>
    aLoad(
      "signals",
      ids.map((id) => signal(id, id === 4 ? 2 : 1)),
      { walkId, receivedAt, requestId: walkId },
    );
  await commit(aCheckpoint([aLoad("accounts", [account], { stream: "accounts", requestId: "a" })]));
  // The first walk met 1, 3 and 4; 2 is older than its end, and 5 came later.
  await commit(aCheckpoint([load("before", [2], T0 - 9)]));
  await commit(aCheckpoint([load("w1", [1, 3, 4], T0)], { scopes: [aState({ status: "idle", walkedAt: T0 + 1 })] }));
  await commit(aCheckpoint([load("later", [5], T0 + 9)]));
  // The second one met 1 and 4.
  await commit(aCheckpoint([load("w2", [1, 4], T0 + 20)]));
  const search = { table: "signals", walkId: "w2", walkBefore: "w1", limit: 9 } as const;
  const found = await findSuspects(database, search);
  expect(found[0]).toEqual({ id: "2", met: false, orphan: false, missedTwice: true });
  expect(new Set(found.slice(1, 3).map(({ id }) => id))).toEqual(new Set(["3", "5"]));
  expect(found.slice(1, 3)).toMatchObject([{ missedTwice: false }, { missedTwice: false }]);
  expect(found.slice(3)).toEqual([{ id: "4", met: true, orphan: true, missedTwice: false }]);
  expect(await findSuspects(database, { ...search, limit: 1 })).toHaveLength(1);
  // Without an earlier walk that did not add up nothing was missed twice.
  const once = await findSuspects(database, { ...search, walkBefore: null });
  expect(once.some(({ missedTwice }) => missedTwice)).toBe(false);
  expect(await findMet(database, { table: "signals", walkId: "w2", limit: 9 })).toEqual(["1"]);
});

test("rows by account, those with the most rows first: of accounts that are mirrored, or that are not", async () => {
  const { database, commit } = await aWarehouse();
  const account = { id: 1, organizationId: "org", name: "Acme" };
  const signals = [1, 1, 7, 7, 7, 8].map((accountId, index) => aSignal(index + 9, { accountId }));
  await commit(aCheckpoint([aLoad("accounts", [account], { stream: "accounts", requestId: "a" })]));
  await commit(aCheckpoint([aLoad("signals", signals, { requestId: "s" })]));
  const search = { table: "signals", mirrored: false, limit: 9 } as const;
  expect(await readRowsByAccount(database, search)).toEqual([
    { account: "7", ids: ["11", "12", "13"] },
    { account: "8", ids: ["14"] },
  ]);
  expect(await readRowsByAccount(database, { ...search, limit: 1 })).toHaveLength(1);
  expect(await readRowsByAccount(database, { ...search, mirrored: true })).toEqual([
    { account: "1", ids: ["9", "10"] },
  ]);
  expect(await readRowsByAccount(database, { ...search, table: "accounts" })).toEqual([]);
});

const DAY_MS = 86_400_000;
const at = (iso: string) => Date.parse(iso);

test("rows are counted per day, those at midnight too, also before 1970; rows without a date are in no day", async () => {
  const { database, commit } = await aWarehouse();
  const times = [
    "1969-12-31T23:59:59.999999Z",
    "2026-03-01",
    "2026-03-01T23:59:59.999999Z",
    "2026-03-02T01:00:00+02:00",
    "2026-03-03T00:00:00Z",
    null,
  ];
  const contact = (inCurrentRoleSince: string | null, index: number) => ({
    id: `p${index}`,
    organizationId: "org",
    inCurrentRoleSince,
  });
  await commit(aCheckpoint([aLoad("contacts", times.map(contact), { stream: "contacts" })]));
  const field = { table: "contacts", field: "inCurrentRoleSince" } as const;
  expect(await readRowsPerDay(database, field)).toEqual([
    { day: -DAY_MS, rows: 1, atMidnight: 0 },
    { day: at("2026-03-01T00:00:00Z"), rows: 3, atMidnight: 1 },
    { day: at("2026-03-03T00:00:00Z"), rows: 1, atMidnight: 1 },
  ]);
  const between = (from: number | null, to: number | null, inclusive = false) => {
    const bound = (day: number | null) => (day === null ? null : { at: day, inclusive });
    return readRowsBetween(database, { ...field, from: bound(from), to: bound(to), besides: ["p0"], limit: 9 });
  };
  const [first, third] = [at("2026-03-01T00:00:00Z"), at("2026-03-03T00:00:00Z")];
  expect(await between(first, third)).toEqual(["p1", "p2", "p3"]);
  expect(await between(first, third, true)).toEqual(["p2", "p3", "p4"]);
  expect(await between(third, null)).toEqual(["p4", "p5"]);
  expect(await between(null, first)).toEqual([]);
  expect(await readRowsBetween(database, { ...field, from: null, to: null, besides: [], limit: 2 })).toEqual([
    "p0",
    "p1",
  ]);
  await expect(async () => readRowsPerDay(database, { table: "contacts", field: "no" })).rejects.toThrow("no field no");
});
