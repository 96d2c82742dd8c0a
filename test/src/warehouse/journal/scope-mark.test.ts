// Rows that follow others in and out of the setting `scope`: insights their accounts, companies and their lists both the
// accounts and the followed inputs.
import { beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { COMPANY_TABLES } from "../../../../src/catalog/tables.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { changesByMark, markStatements, scopeMarkSchema } from "../../../../src/warehouse/journal/scope-mark.ts";
import { forFile } from "../../../support/for-file.ts";

const LISTS = COMPANY_TABLES;
const database = await forFile(openDatabase(":memory:", { threads: 1 }));
beforeAll(async () => {
  const tables = [
    "main.accounts (id BIGINT, company_id VARCHAR, _in_scope BOOLEAN)",
    "main.account_insights (account_id BIGINT, _in_scope BOOLEAN)",
    "main.companies (id VARCHAR, _in_scope BOOLEAN)",
    "main.company_inputs (input VARCHAR, company_id VARCHAR)",
    ...LISTS.map((name) => `main.${name} (company_id VARCHAR, _in_scope BOOLEAN)`),
    "sync.capabilities (name VARCHAR, value JSON)",
  ];
  await database.run("CREATE SCHEMA sync");
  for (const table of tables) await database.run(`CREATE TABLE ${table}`);
});
beforeEach(async () => {
  const tables = ["accounts", "account_insights", "companies", "company_inputs", ...LISTS].map(
    (name) => `main.${name}`,
  );
  for (const table of [...tables, "sync.capabilities"]) await database.run(`DELETE FROM ${table}`);
});

const anAccount = (id: number, company: string | null, inScope: boolean) =>
  database.run(`INSERT INTO main.accounts VALUES (${id}, ${company === null ? "NULL" : `'${company}'`}, ${inScope})`);
const anInsight = (id: number, inScope: boolean) =>
  database.run(`INSERT INTO main.account_insights VALUES (${id}, ${inScope})`);
const aCompany = async (id: string, inScope: boolean) => {
  for (const table of ["companies", ...LISTS])
    await database.run(`INSERT INTO main.${table} VALUES ('${id}', ${inScope})`);
};
const anInput = (input: string, company: string) =>
  database.run(`INSERT INTO main.company_inputs VALUES ('${input}', '${company}')`);
const follow = (...inputs: readonly string[]) =>
  database.run(`INSERT INTO sync.capabilities VALUES ('wanted', '${JSON.stringify({ inputs })}')`);

/** Ids of the rows in scope, after the marks are made. */
const inScope = async (table: string, id: string): Promise<readonly string[]> => {
  for (const statement of markStatements({ of: "followers" })) await database.run(statement);
  expect(await database.query(changesByMark({ of: "followers" }), [], z.unknown())).toEqual([]);
  const sql = `SELECT CAST(${id} AS VARCHAR) AS id FROM main.${table} WHERE _in_scope ORDER BY 1`;
  return (await database.query(sql, [], z.object({ id: z.string() }))).map((row) => row.id);
};

test("a mark by the setting chooses rows by what it says, and both marks together choose every row", async () => {
  await anAccount(1, "c_1", true);
  await anAccount(2, "it''s", true);
  await anAccount(3, null, true);
  const outside = { noneOf: [{ column: "company_id", values: ["it's"] }], before: null };
  const mark = { of: "setting", table: "accounts", inside: false, outside } as const;
  const marked = async (change: Parameters<typeof markStatements>[0]) => {
    for (const statement of markStatements(change)) await database.run(statement);
    const sql = "SELECT id FROM main.accounts WHERE _in_scope ORDER BY 1";
    return (await database.query(sql, [], z.object({ id: z.number() }))).map(({ id }) => id);
  };
  expect(await database.query(changesByMark(mark), [], z.unknown())).toHaveLength(1);
  expect(await marked(mark)).toEqual([2]);
  expect(await marked({ ...mark, inside: true, outside: null })).toEqual([1, 2, 3]);
  expect(await marked({ ...mark, outside: null })).toEqual([1, 2, 3]);
});

test("a column that is no name is no mark: it would be part of a statement", () => {
  const mark = (column: string) => ({
    of: "setting",
    table: "signals",
    inside: true,
    outside: { noneOf: [{ column, values: [] }], before: null },
  });
  expect(scopeMarkSchema.safeParse(mark("type")).success).toBe(true);
  expect(scopeMarkSchema.safeParse(mark("type) OR (true")).success).toBe(false);
});

test("an insight is in scope while its account is, and no longer once that is gone", async () => {
  await anAccount(1, null, true);
  await anAccount(2, null, false);
  for (const [id, before] of [
    [1, false],
    [2, true],
    [3, true],
  ] as const)
    await anInsight(id, before);
  expect(await inScope("account_insights", "account_id")).toEqual(["1"]);
});

test("a company and its lists are in scope by an account in scope, however many others are outside", async () => {
  await anAccount(1, "c_1", true);
  await anAccount(2, "c_1", false);
  await anAccount(3, "c_2", false);
  await anAccount(4, null, true);
  await aCompany("c_1", false);
  await aCompany("c_2", true);
  expect(await inScope("companies", "id")).toEqual(["c_1"]);
  for (const list of LISTS) expect(await inScope(list, "company_id")).toEqual(["c_1"]);
});

test("a followed input keeps its company in scope, without any account", async () => {
  await aCompany("c_1", false);
  await aCompany("c_2", true);
  await anInput("one.example", "c_1");
  await anInput("two.example", "c_2");
  await follow("one.example");
  expect(await inScope("companies", "id")).toEqual(["c_1"]);
});

test("where no run has noted the followed inputs yet, all of them count; where it noted none, none does", async () => {
  await aCompany("c_1", false);
  await anInput("one.example", "c_1");
  expect(await inScope("companies", "id")).toEqual(["c_1"]);
  await follow();
  expect(await inScope("companies", "id")).toEqual([]);
});
