// What a destination is offered: changes where the feed has them all, whole tables where it does not, nothing at all where
// the destination belongs to another history.
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { openSource } from "../../../src/deliver/source.ts";
import { pruneHistory } from "../../../src/warehouse/file/upkeep/history-retention.ts";
import { startFeed } from "../../../src/warehouse/load/walks.ts";
import { erase } from "../../destinations/erasing.ts";
import { change } from "../../support/change-mirror.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../warehouse/checkpoints.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { bring, bringTo, type CopyOfMirror, emptyCopy, wholeIn } from "./copies.ts";

const signals = (ids: readonly number[], headline: string, receivedAt = T0) =>
  aCheckpoint([
    aLoad(
      "signals",
      ids.map((id) => aSignal(id, { headline })),
      { receivedAt },
    ),
  ]);
const contacts = (ids: readonly string[]) =>
  aCheckpoint([
    aLoad(
      "contacts",
      ids.map((id) => ({ id, email: `${id}@example.com` })),
    ),
  ]);
const quota = (at: number) =>
  aCheckpoint([], { quota: { capturedAt: T0 + at, limit: 1, used: 1, remaining: 0, resetsAt: null } });

/** A mirror with three signals, two contacts and two readings, and a copy of it. */
const aMirror = async () => {
  const dataDir = tempDir();
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signals([1, 2, 3], "a"));
    await warehouse.commit(contacts(["contact-1", "contact-2"]));
    for (const at of [0, 1]) await warehouse.commit(quota(at));
  });
  const copy = emptyCopy();
  await bring(dataDir, copy);
  return { dataDir, copy };
};

/** Throws unless the copy holds what a new one would. */
const expectCurrent = async (dataDir: string, copy: CopyOfMirror) => {
  const fresh = emptyCopy();
  await bring(dataDir, fresh);
  expect(copy.position).toEqual(fresh.position);
  expect(copy.tables).toEqual(fresh.tables);
};

test("an empty destination gets every table whole, a later one the rows whose keys changed", async () => {
  const { dataDir, copy } = await aMirror();
  expect(wholeIn(copy)).toHaveLength(16);
  expect(copy.tables.get("signals")?.size).toBe(3);
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signals([2, 4], "b"));
    await warehouse.deleteKeys({ table: "signals", ids: ["1"], runId: "run-2", now: T0 + 1000 });
    await warehouse.commit(signals([5], "c"));
    await warehouse.deleteKeys({ table: "signals", ids: ["5"], runId: "run-2", now: T0 + 2000 });
  });
  await bring(dataDir, copy);
  expect(wholeIn(copy)).toEqual([]);
  expect(copy.offered.filter(({ changes }) => changes !== 0)).toMatchObject([{ name: "signals", changes: 5 }]);
  await expectCurrent(dataDir, copy);
});

test("the snapshot is the one that was published when the source was opened", async () => {
  const { dataDir, copy } = await aMirror();
  const source = await openSource({ dataDir, now: Date.now() });
  const before = await source.sourceFor({ name: "copy", tables: [], takeOver: false });
  await change(dataDir, (warehouse) => warehouse.commit(signals([9], "new")));
  await bringTo(before, copy);
  expect(copy.tables.get("signals")?.size).toBe(3);
  await source.close();
  expect(readdirSync(join(dataDir, "state", "delivering"))).toEqual([]);
  await bring(dataDir, copy);
  await expectCurrent(dataDir, copy);
});

test("the request history is brought whole after each erasure that changes it, also where a row changes again", async () => {
  const { dataDir, copy } = await aMirror();
  await change(dataDir, ({ database }) =>
    database.run(`INSERT INTO main.usage_requests (id, endpoint, input, _extra) VALUES
      (1, 'GET /v1/contacts', '{"ids": "contact-1,contact-2"}', NULL), (2, 'GET', NULL, '{"about": "contact-2"}')`),
  );
  await bring(dataDir, copy);
  for (const id of ["contact-1", "contact-2"]) {
    await erase(dataDir, id);
    await bring(dataDir, copy);
    expect(wholeIn(copy)).toContain("usage_requests");
    await expectCurrent(dataDir, copy);
  }
});

test("an erasure is brought although the feed lost the change of an earlier one meanwhile", async () => {
  const { dataDir, copy } = await aMirror();
  await erase(dataDir, "contact-1");
  await bring(dataDir, copy);
  await erase(dataDir, "contact-2");
  await change(dataDir, ({ database }) =>
    database.run(
      "DELETE FROM sync.changes WHERE key_1 = (SELECT arg_min(key_1, n) FROM sync.changes WHERE starts_with(key_1, 'forgotten:'))",
    ),
  );
  await bring(dataDir, copy);
  await expectCurrent(dataDir, copy);
});

const OLDEST_READING =
  "DELETE FROM main.usage_snapshots WHERE captured_at = (SELECT min(captured_at) FROM main.usage_snapshots)";
const run =
  (...statements: readonly string[]) =>
  (dataDir: string) =>
    change(dataDir, ({ database }) => database.run(statements.join(";")));

test.each<{ what: string; work: (dataDir: string) => Promise<unknown>; whole: readonly string[] | "all" }>([
  {
    what: "an erasure of a contact, which the feed does not name",
    work: (dataDir) => erase(dataDir, "contact-1"),
    whole: ["contacts"],
  },
  {
    what: "rows that leave the scope and readings that retention removes, which have no number",
    work: run("UPDATE main.signals SET _in_scope = false WHERE id = 2", OLDEST_READING),
    whole: ["signals", "usage_snapshots"],
  },
  {
    what: "a removed reading where another one came in its place",
    work: (dataDir) =>
      change(dataDir, async (warehouse) => {
        await warehouse.commit(quota(2));
        await warehouse.database.run(OLDEST_READING);
      }),
    whole: ["usage_snapshots"],
  },
  {
    what: "a replay: values may differ under the same times, runs and numbers",
    work: run(
      "UPDATE main.contacts SET email = NULL",
      "UPDATE sync.migrations SET applied_at = now() + INTERVAL 1 DAY",
    ),
    whole: "all",
  },
  {
    what: "a new column, whose rows were filled without a change",
    work: run("ALTER TABLE main.signals ADD COLUMN later VARCHAR"),
    whole: ["signals"],
  },
])("tables are brought whole after $what: $whole", async ({ work, whole }) => {
  const { dataDir, copy } = await aMirror();
  await work(dataDir);
  await bring(dataDir, copy);
  expect(wholeIn(copy).toSorted()).toEqual(whole === "all" ? TABLE_NAMES.toSorted() : whole);
  await expectCurrent(dataDir, copy);
});

test("an erasure that only unknown fields of the request history name is brought, too", async () => {
  const { dataDir, copy } = await aMirror();
  await run(`INSERT INTO main.usage_requests (id, endpoint, _extra) VALUES (2, 'GET', '{"about": "contact-2"}')`)(
    dataDir,
  );
  await bring(dataDir, copy);
  await erase(dataDir, "contact-2");
  await bring(dataDir, copy);
  await expectCurrent(dataDir, copy);
});

test("a position before the changes that are kept, and a feed that began anew, give whole tables", async () => {
  const { dataDir, copy } = await aMirror();
  await change(dataDir, async (warehouse) => {
    await warehouse.commit(signals([1], "b", T0 + 1000));
    await warehouse.commit(signals([1], "c", T0 + 2000));
    await pruneHistory(warehouse.database, 1, Date.now());
  });
  await bring(dataDir, copy);
  expect(wholeIn(copy)).toHaveLength(16);
  await expectCurrent(dataDir, copy);
  await change(dataDir, ({ database }) => database.transaction((tx) => startFeed(tx, { after: 1_000_000, now: T0 })));
  await bring(dataDir, copy);
  expect(wholeIn(copy)).toHaveLength(16);
  await expectCurrent(dataDir, copy);
});

test("another mirror, another history of the same one, and one that is behind are refused until they are to take over", async () => {
  const { dataDir, copy } = await aMirror();
  const other = await aMirror();
  await expect(bring(other.dataDir, copy)).rejects.toMatchObject({ code: "DESTINATION_OTHER_MIRROR" });
  // The data directory is put back to an older copy of its files.
  const older = tempDir();
  rmSync(older, { recursive: true });
  cpSync(dataDir, older, { recursive: true });
  await change(dataDir, (warehouse) => warehouse.commit(signals([6], "here", T0 + 1000)));
  await bring(dataDir, copy);
  await expect(bring(older, copy)).rejects.toMatchObject({ code: "DESTINATION_AHEAD" });
  await change(older, (warehouse) => warehouse.commit(signals([7, 8], "there", T0 + 5000)));
  await expect(bring(older, copy)).rejects.toMatchObject({
    code: "DESTINATION_OTHER_MIRROR",
    hint: expect.stringContaining("deliver copy --take-over"),
  });
  await bring(older, copy, { takeOver: true });
  expect(wholeIn(copy)).toHaveLength(16);
  await expectCurrent(older, copy);
});

test("a destination of some tables gets the others whole when it asks for them", async () => {
  const { dataDir, copy } = await aMirror();
  const few = emptyCopy();
  await bring(dataDir, few, { tables: ["signals"] });
  expect([...few.tables.keys()]).toEqual(["signals"]);
  await bring(dataDir, few, { tables: ["signals", "contacts"] });
  expect(wholeIn(few)).toEqual(["contacts"]);
  expect(few.tables.get("contacts")).toEqual(copy.tables.get("contacts"));
});
