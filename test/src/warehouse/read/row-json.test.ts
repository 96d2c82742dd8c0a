// The JSON that DuckDB writes of single values and rows.
import { expect, test } from "vitest";
import { z } from "zod";
import { DATE_ONLY, type FieldSpec } from "../../../../src/catalog/fields.ts";
import { tableSpec } from "../../../../src/catalog/tables.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { objectJson, rowJson, valueJson } from "../../../../src/warehouse/read/record-text.ts";
import { forFile } from "../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));

const fieldsOf = (table: "accounts" | "contacts" | "signals" | "filings") => tableSpec(table).fields;
const fieldOf = (type: FieldSpec["columnType"], isIt: (field: FieldSpec) => boolean = () => true): FieldSpec => {
  const all = (["accounts", "contacts", "signals", "filings"] as const).flatMap(fieldsOf);
  const found = all.find((field) => field.columnType === type && isIt(field));
  if (found === undefined) throw new TypeError(`no field of type ${type}`);
  return found;
};
const textRow = z.object({ text: z.string().nullable() });

/** What is written of an SQL value in a field's column. */
const written = async (field: FieldSpec, value: string): Promise<string | null> => {
  const from = `(SELECT CAST(${value} AS ${field.columnType}) AS "${field.column}") AS t`;
  const [row] = await database.query(`SELECT ${valueJson(field, "t")} AS text FROM ${from}`, [], textRow);
  return row?.text ?? null;
};

test.each([
  ["BIGINT", "9007199254740993", "9007199254740993"],
  ["DOUBLE", "50", "50"],
  ["DOUBLE", "50.05", "50.05"],
  ["VARCHAR", "'say \"hi\"\n'", '"say \\"hi\\"\\n"'],
  ["VARCHAR[]", "['a', NULL]", '["a",null]'],
  ["JSON", `'{"n": 12345678901234567890}'`, '{"n": 12345678901234567890}'],
] as const)("a value of %s is written exactly: %s", async (type, value, text) => {
  expect(await written(fieldOf(type), value)).toBe(text);
});

test("a time has milliseconds, and microseconds only where it has any", async () => {
  const field = fieldOf("TIMESTAMPTZ", ({ name }) => !DATE_ONLY.includes(name));
  expect(await written(field, "'2026-11-25 10:00:00.120+02'")).toBe('"2026-11-25T08:00:00.120Z"');
  expect(await written(field, "'2026-11-25 10:00:00.120001+00'")).toBe('"2026-11-25T10:00:00.120001Z"');
});

test("a field of dates is written as a date, unless it holds a time of day", async () => {
  const field = fieldOf("TIMESTAMPTZ", ({ name }) => DATE_ONLY.includes(name));
  expect(await written(field, "'2026-11-25 00:00:00+00'")).toBe('"2026-11-25"');
  expect(await written(field, "'2026-11-25 10:30:00+00'")).toBe('"2026-11-25T10:30:00.000Z"');
});

test("a row leaves out what is NULL, and adds unknown fields as they were received", async () => {
  const [id, name] = ["id", "name"].map((wanted) => {
    const field = fieldsOf("accounts").find((each) => each.name === wanted);
    if (field === undefined) throw new TypeError(`no field ${wanted}`);
    return field;
  });
  if (id === undefined || name === undefined) throw new TypeError("no fields");
  const row = rowJson([id, name], { alias: "t", extra: true });
  const from = (extra: string) => `(SELECT 7 AS id, NULL::VARCHAR AS name, ${extra}::JSON AS _extra) AS t`;
  const texts = await database.query(
    `SELECT ${row} AS text FROM ${from(`'{"big": 12345678901234567890}'`)} UNION ALL
     SELECT ${row} FROM ${from("'{ }'")} UNION ALL SELECT ${row} FROM ${from("NULL")}`,
    [],
    textRow,
  );
  expect(texts.map(({ text }) => text)).toEqual(['{"id":7,"big": 12345678901234567890}', '{"id":7}', '{"id":7}']);
});

test("an object without members is empty", async () => {
  expect(await database.query(`SELECT ${objectJson([])} AS text`, [], textRow)).toEqual([{ text: "{}" }]);
});
