// Marks: what a later snapshot sees of changes that have no number.
import { beforeEach, expect, test } from "vitest";
import { changedRows, columnsOf, factsOfSnapshot, markText, readMark } from "../../../src/deliver/position-mark.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";
import { forFile } from "../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
await migrate(database, 0);
beforeEach(async () => {
  for (const table of ["main.accounts", "main.contacts", "main.usage_requests", "sync.changes", "sync.change_batches"])
    await database.run(`DELETE FROM ${table}`);
});

const anAccount = (id: number, inScope = true) =>
  database.run(`INSERT INTO main.accounts (id, name, _in_scope) VALUES (${id}, 'a', ${inScope})`);
const batch = (first: number, last: number, table: string, change: string) =>
  database.run(
    `INSERT INTO sync.change_batches VALUES (${first}, ${last}, '${table}', '${change}', 'r', '2026-01-01')`,
  );
const change = (n: number, key: string) => database.run(`INSERT INTO sync.changes (n, key_1) VALUES (${n}, '${key}')`);
const markOf = async (...names: readonly string[]) => (await factsOfSnapshot(database, 0, names)).mark;
const accountsMark = async () => (await markOf("accounts")).tables.accounts;

test("a mark is stored as a text and read again; that of another version, or no mark, is none", async () => {
  const mark = await markOf();
  expect(readMark(markText(mark))).toEqual(mark);
  for (const text of ["", "{}", markText(mark).replace('"v":1', '"v":2')]) expect(readMark(text)).toBeNull();
});

test("a mark is the same for the same snapshot, whatever the order of its rows", async () => {
  for (const id of [1, 2, 3]) await anAccount(id, id > 1);
  const before = await accountsMark();
  await database.run("DELETE FROM main.accounts");
  for (const id of [3, 1, 2]) await anAccount(id, id > 1);
  expect(await accountsMark()).toEqual(before);
});

test("only the tables that are asked for have a mark; usage means its four tables", async () => {
  expect(Object.keys((await markOf("accounts")).tables)).toEqual(["accounts"]);
  const usage = Object.keys((await markOf("usage")).tables);
  expect(usage).toHaveLength(4);
  expect(usage.every((table) => table.startsWith("usage_"))).toBe(true);
  expect(Object.keys((await markOf()).tables).length).toBeGreaterThan(10);
});

test("of the keys that changed, those count that had a row before, and those that have one now", async () => {
  await anAccount(1);
  await anAccount(2);
  await batch(1, 1, "accounts", "insert");
  await batch(2, 4, "accounts", "insert");
  await batch(5, 6, "accounts", "update");
  await batch(7, 8, "accounts", "delete");
  await batch(9, 9, "contacts", "delete");
  for (const [nth, key] of ["9", "1", "2", "3", "4", "1", "3", "4", "x"].entries()) await change(nth + 1, key);
  const columns = await columnsOf(database, "accounts");
  // After 1: accounts 1, 2 and 3 are new, 3 and 4 are gone again; 4 was there before.
  expect(await changedRows(database, "accounts", columns, 1)).toEqual({ before: 1, after: 2 });
  expect(await changedRows(database, "accounts", columns, 6)).toEqual({ before: 2, after: 0 });
  expect(await changedRows(database, "accounts", columns, 8)).toEqual({ before: 0, after: 0 });
});
