import { expect, test } from "vitest";
import { readFeedState } from "../../../../src/warehouse/load/change-log.ts";
import { dropWalk, startFeed } from "../../../../src/warehouse/load/walks.ts";
import { aCheckpoint, aLoad, aSignal, aState, aWarehouse, oneRow, rowsOf, T0 } from "../builders.ts";

// A change feed that starts anew: every present row is an insert, behind numbers that readers have seen.

test("rows that exist are numbered in the order of their keys; versions of before have no number any more", async () => {
  const warehouse = await aWarehouse();
  const { database, commit } = warehouse;
  await commit(aCheckpoint([aLoad("signals", [aSignal(2), aSignal(1)])]));
  await commit(aCheckpoint([aLoad("signals", [aSignal(1, { headline: "new" })], { requestId: "later" })]));
  await database.transaction((tx) => startFeed(tx, { after: 1_000_000, now: 5 }));
  expect(await readFeedState(database)).toEqual({ last: 1_000_002, lastAt: 5, pending: false });
  expect(await rowsOf(warehouse, "SELECT n, key_1 FROM sync.changes ORDER BY n")).toEqual([
    { n: 1_000_001, key_1: "1" },
    { n: 1_000_002, key_1: "2" },
  ]);
  expect(await rowsOf(warehouse, "SELECT change_n FROM history.signals")).toEqual([{ change_n: null }]);
  // The next change goes on from there.
  await commit(aCheckpoint([aLoad("signals", [aSignal(3)], { requestId: "next" })]));
  expect((await readFeedState(database)).last).toBe(1_000_003);
});

const filings = (company: string, ids: readonly number[], walkId: string | null) =>
  aLoad(
    "filings",
    ids.map((id) => ({ id })),
    { fromPath: { companyId: company }, walkId },
  );

test("rows that a walk did not meet are counted and sampled, always the same ones", async () => {
  const warehouse = await aWarehouse();
  const all = Array.from({ length: 70 }, (_, id) => aSignal(id));
  await warehouse.commit(aCheckpoint([aLoad("signals", all)]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [...all.slice(0, 40), ...all.slice(0, 5)], { walkId: "w" })]));
  expect(await warehouse.seenCount("w")).toBe(40);
  const missing = await warehouse.missing({ table: "signals", walkId: "w" });
  expect(missing).toMatchObject({ rows: 70, missing: 30 });
  expect(new Set(missing.sample).size).toBe(20);
  for (const id of missing.sample) expect(Number(id)).toBeGreaterThanOrEqual(40);
  expect(await warehouse.missing({ table: "signals", walkId: "w" })).toEqual(missing);
});

test("deleting them keeps their last version in history, forgets the walk and stores the state, all at once", async () => {
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1), aSignal(2)])]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)], { walkId: "w" })]));
  const scope = aState({ status: "idle", walkId: null, cursor: null, walkedAt: T0 });
  const now = T0 + 5000;
  expect(
    await warehouse.deleteMissing({ table: "signals", walkId: "w", expected: 1, runId: "run-2", now, scope }),
  ).toBe(1);
  expect(await rowsOf(warehouse, "SELECT id FROM signals")).toEqual([{ id: 1 }]);
  expect(await oneRow(warehouse, "SELECT id, change, valid_from, valid_to FROM history.signals")).toEqual({
    id: 2,
    change: "delete",
    valid_from: T0,
    valid_to: now,
  });
  expect(await warehouse.seenCount("w")).toBe(0);
  expect(await warehouse.scopeStates()).toEqual([scope]);
});

test("nothing is deleted when other rows would go than were counted, as when the walk was dropped meanwhile", async () => {
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1), aSignal(2)])]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)], { walkId: "w" })]));
  await warehouse.database.transaction((tx) => dropWalk(tx, "w"));
  const request = { table: "signals", walkId: "w", expected: 1, runId: "run-1", now: T0 } as const;
  await expect(warehouse.deleteMissing(request)).rejects.toThrow(/2 rows would go, 1 were counted/);
  expect(await warehouse.countRows("signals")).toBe(2);
  expect(await rowsOf(warehouse, "FROM history.signals")).toEqual([]);
});

test("a deleted row that returns is live again", async () => {
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "c" }])]));
  const gone = { table: "contacts", ids: ["c", "unknown"], runId: "run-1", now: T0 + 1 } as const;
  expect(await warehouse.deleteKeys(gone)).toBe(1);
  expect(await warehouse.countRows("contacts")).toBe(0);
  expect(await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "c" }])]))).toMatchObject([{ inserted: 1 }]);
  expect(await warehouse.countRows("contacts")).toBe(1);
});

test("a walk of one company says nothing about the rows of another, also where ids repeat", async () => {
  const warehouse = await aWarehouse();
  await warehouse.commit(aCheckpoint([filings("a", [1, 2], null), filings("b", [1, 2, 3], null)]));
  await warehouse.commit(aCheckpoint([filings("a", [1], "wa"), filings("b", [2, 3], "wb")]));
  expect(await warehouse.idsOfCompany("filings", "a")).toEqual(["1", "2"]);
  const scope = { table: "filings", walkId: "wa", company: "a" } as const;
  expect(await warehouse.missing(scope)).toEqual({ rows: 2, missing: 1, sample: ["2"] });
  expect(await warehouse.deleteMissing({ ...scope, expected: 1, runId: "run-1", now: T0 })).toBe(1);
  expect(await rowsOf(warehouse, "SELECT company_id, id FROM filings ORDER BY ALL")).toEqual([
    { company_id: "a", id: 1 },
    { company_id: "b", id: 1 },
    { company_id: "b", id: 2 },
    { company_id: "b", id: 3 },
  ]);
  expect(await warehouse.countRows("filings", "b")).toBe(3);
  expect(await warehouse.seenCount("wb")).toBe(2);
  await warehouse.deleteKeys({ table: "filings", company: "b", ids: ["3"], runId: "run-1", now: T0 });
  expect(await warehouse.countRows("filings")).toBe(3);
});

test("runs and capabilities are remembered", async () => {
  const warehouse = await aWarehouse();
  await warehouse.startRun({ runId: "r", mode: "full", startedAt: T0, forecast: { credits: 5 } });
  expect(await oneRow(warehouse, "SELECT status, forecast FROM sync.runs")).toEqual({
    status: "running",
    forecast: '{"credits":5}',
  });
  await warehouse.finishRun("r", { status: "done", finishedAt: T0 + 1, summary: { rows: 2n ** 60n } });
  expect(await oneRow(warehouse, "SELECT status, finished_at, summary, error FROM sync.runs")).toEqual({
    status: "done",
    finished_at: T0 + 1,
    summary: `{"rows":${2n ** 60n}}`,
    error: null,
  });
  await warehouse.setCapability("per_page", "100", T0);
  await warehouse.setCapability("per_page", "200", T0);
  expect(await warehouse.capabilities()).toEqual(new Map([["per_page", "200"]]));
});
