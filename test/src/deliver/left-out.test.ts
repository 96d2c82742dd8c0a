import { join } from "node:path";
import { expect, test } from "vitest";
import { LONGEST_KEY, stagedLinesSql, wholeLinesSql } from "../../../src/deliver/kinds/postgres/statements.ts";
import { readLeftOut } from "../../../src/deliver/left-out.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { change } from "../../support/change-mirror.ts";
import { aCheckpoint, aLoad } from "../warehouse/checkpoints.ts";
import { tempDir } from "../warehouse/temp-dir.ts";

const ARTICLES = {
  name: "news_articles",
  key: ["company_id", "id"],
  columns: [
    { name: "company_id", type: "VARCHAR" },
    { name: "id", type: "VARCHAR" },
  ],
  extent: "whole",
  changes: null,
} as const;

const snapshotWith = async (ids: readonly string[]): Promise<string> => {
  const dataDir = tempDir();
  const records = ids.map((id) => ({ id, url: "https://news.example/1" }));
  const more = { fromPath: { companyId: "acme" } };
  await change(dataDir, (warehouse) => warehouse.commit(aCheckpoint([aLoad("news_articles", records, more)])));
  return join(dataDir, "warehouse.duckdb");
};

const { signal } = new AbortController();

test("a key that no index takes and one with U+0000 are left out, and a key that the latter would become arrives", async () => {
  const longest = "x".repeat(2_600 - "acme".length);
  const snapshot = await snapshotWith(["plain", longest, `${longest}y`, "é".repeat(1_500), "a\0b", "a\ufffdb"]);
  const [found, ...others] = await readLeftOut(snapshot, [ARTICLES], LONGEST_KEY, signal);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ table: "news_articles", rows: 3 });
  expect(found?.keys).toEqual(["acme/a\ufffdb", `acme/${"x".repeat(75)}`, `acme/${"é".repeat(75)}`]);
  for (const sql of [wholeLinesSql(ARTICLES), stagedLinesSql(ARTICLES)]) {
    const { rows } = await runQuery({ snapshot, sql, signal });
    const ids = rows.map(([line]) => String(line).split("\t")[1]);
    expect(ids.sort()).toEqual(["a\ufffdb", "plain", longest].sort());
  }
});

test("tables without such rows, and tables whose keys are numbers, are not named", async () => {
  const snapshot = await snapshotWith(["plain"]);
  const signals = { ...ARTICLES, name: "signals", key: ["id"], columns: [{ name: "id", type: "BIGINT" }] };
  expect(await readLeftOut(snapshot, [ARTICLES, signals], LONGEST_KEY, signal)).toEqual([]);
});
