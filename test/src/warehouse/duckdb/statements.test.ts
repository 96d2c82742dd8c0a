// Statements on one connection: what comes back of each kind of value, and how many rows were changed.
import { INTEGER, VARCHAR } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { instant } from "../../../../src/warehouse/duckdb/duck-values.ts";
import { forFile } from "../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
const anyRow = z.record(z.string(), z.unknown());

test("values are bound, whatever is in them", async () => {
  const params = ["'; DROP TABLE x; --", 2 ** 53, instant(5), ["a", null]];
  const [row] = await database.query("SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d", params, anyRow);
  expect(row).toEqual({ a: params[0], b: 2 ** 53, c: 5, d: ["a", null] });
});

test("a row that its schema does not take is refused", async () => {
  await expect(database.query("SELECT 'x' AS n", [], z.object({ n: z.number() }))).rejects.toThrow();
});

test("rows that a statement changed are counted, and several statements run without parameters", async () => {
  await database.run("CREATE TABLE t (id INTEGER, name VARCHAR); INSERT INTO t VALUES (1, 'a'), (2, 'b')");
  expect(await database.run("UPDATE t SET name = $1 WHERE id < 3", ["c"])).toBe(2);
  expect(await database.run("DELETE FROM t WHERE id = 9")).toBe(0);
});

test("columns are appended in chunks, and belong to their transaction", async () => {
  const chunks = [
    [
      [3, 4],
      ["d", null],
    ],
    [[5], ["e"]],
  ];
  const rows = () => database.cells("SELECT id, name FROM t WHERE id > 2 ORDER BY id", []);
  const failing = database.transaction(async (tx) => {
    await tx.append("main.t", [INTEGER, VARCHAR], chunks);
    throw new Error("undone");
  });
  await expect(failing).rejects.toThrow("undone");
  expect(await rows()).toEqual([]);
  await database.transaction((tx) => tx.append("t", [INTEGER, VARCHAR], chunks));
  expect(await rows()).toEqual([
    [3, "d"],
    [4, null],
    [5, "e"],
  ]);
});
