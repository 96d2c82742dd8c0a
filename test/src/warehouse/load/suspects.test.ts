// Rows that were probably deleted, the most probable first.
import { expect, test } from "vitest";
import { findMet, findSuspects } from "../../../../src/warehouse/load/suspects.ts";
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
