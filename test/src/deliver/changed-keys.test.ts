// Keys that changed after a position, read from a change feed.
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { changedKeysSql } from "../../../src/deliver/position-mark.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { forFile } from "../../support/for-file.ts";

const accounts = {
  name: "accounts",
  key: ["id"],
  columns: [
    { name: "id", type: "BIGINT" },
    { name: "name", type: "VARCHAR" },
  ],
};
const filings = {
  name: "filings",
  key: ["company_id", "id"],
  columns: [
    { name: "company_id", type: "VARCHAR" },
    { name: "id", type: "BIGINT" },
  ],
};

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
beforeAll(async () => {
  await database.run(`ATTACH ':memory:' AS "the mirror"`);
  await database.run(`CREATE SCHEMA "the mirror".sync`);
  await database.run(`CREATE TABLE "the mirror".sync.changes (n BIGINT, key_1 VARCHAR, key_2 VARCHAR)`);
  await database.run(
    `CREATE TABLE "the mirror".sync.change_batches (first_n BIGINT, last_n BIGINT, table_name VARCHAR)`,
  );
  for (const [first, last, table] of [
    [1, 2, "accounts"],
    [3, 4, "filings"],
    [5, 7, "accounts"],
    [8, 8, "contacts"],
  ])
    await database.run(`INSERT INTO "the mirror".sync.change_batches VALUES (${first}, ${last}, '${table}')`);
  const keys = [
    "'1', NULL",
    "'2', NULL",
    "'c_1', '9007199254740993'",
    "'c_1', '8'",
    "'2', NULL",
    "'10', NULL",
    "'2', NULL",
    "'bea', NULL",
  ];
  for (const [nth, key] of keys.entries())
    await database.run(`INSERT INTO "the mirror".sync.changes VALUES (${nth + 1}, ${key})`);
});

const changed = async (table: Parameters<typeof changedKeysSql>[0], n: number) => {
  const sql = `SELECT CAST(to_json(k) AS VARCHAR) AS key FROM (${changedKeysSql(table, { n }, "the mirror")}) AS k ORDER BY 1`;
  return (await database.query(sql, [], z.object({ key: z.string() }))).map(({ key }) => key);
};

test("each key that changed is there once, in the column and type of its table", async () => {
  expect(await changed(accounts, 0)).toEqual(['{"id":10}', '{"id":1}', '{"id":2}']);
  expect(await changed(filings, 0)).toEqual([
    '{"company_id":"c_1","id":8}',
    '{"company_id":"c_1","id":9007199254740993}',
  ]);
});

test("only what changed after the position counts, also within a batch", async () => {
  expect(await changed(accounts, 5)).toEqual(['{"id":10}', '{"id":2}']);
  expect(await changed(filings, 3)).toEqual(['{"company_id":"c_1","id":8}']);
  expect(await changed(accounts, 7)).toEqual([]);
});

test("keys of other tables, which may be no numbers, are no failure", async () => {
  expect(await changed({ ...accounts, name: "owners" }, 0)).toEqual([]);
});
