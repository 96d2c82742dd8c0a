// A change feed that starts anew: every present row is an insert, behind numbers that readers have seen.
import { expect, test } from "vitest";
import { readFeedState } from "../../../../src/warehouse/load/change-log.ts";
import { startFeed } from "../../../../src/warehouse/load/start-feed.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, rowsOf } from "../builders.ts";

test("rows that exist are numbered in the order of their keys; versions of before have no number any more", async () => {
  const warehouse = await aWarehouse();
  const { database, commit } = warehouse;
  await commit(aCheckpoint([aLoad("signals", [aSignal(2), aSignal(1)])]));
  await commit(aCheckpoint([aLoad("signals", [aSignal(1, { headline: "new" })], { requestId: "later" })]));
  await database.transaction((tx) => startFeed(tx, { after: 1_000_000, now: 5 }));
  expect(await readFeedState(database)).toEqual({ last: 1_000_002, pending: false });
  expect(await rowsOf(warehouse, "SELECT n, key_1 FROM sync.changes ORDER BY n")).toEqual([
    { n: 1_000_001, key_1: "1" },
    { n: 1_000_002, key_1: "2" },
  ]);
  expect(await rowsOf(warehouse, "SELECT change_n FROM history.signals")).toEqual([{ change_n: null }]);
  // The next change goes on from there.
  await commit(aCheckpoint([aLoad("signals", [aSignal(3)], { requestId: "next" })]));
  expect((await readFeedState(database)).last).toBe(1_000_003);
});
