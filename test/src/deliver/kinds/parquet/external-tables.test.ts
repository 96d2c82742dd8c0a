// Statements for query engines: every table and column, names and texts quoted as the engine wants them, lists as the source.
import { expect, test } from "vitest";
import { catalogTables, type DictionaryTable } from "../../../../../src/catalog/dictionary.ts";
import { isCode } from "../../../../../src/core/errors.ts";
import { ENGINES, type Engine, externalTables } from "../../../../../src/deliver/kinds/parquet/external-tables.ts";

const tables = catalogTables().filter(({ schema }) => schema === "main");
const placeOf = (engine: Engine) => (engine === "bigquery" ? "gs://lake/set" : "s3://lake/set/");

const odd: DictionaryTable = {
  schema: "main",
  name: "odd",
  grain: "It's a \\ row.",
  key: [],
  source: "",
  columns: [
    {
      name: 'a"`b',
      type: "VARCHAR[]",
      meaning: "x".repeat(300),
      sourceField: null,
      nullWhen: null,
      allowed: null,
      references: null,
    },
  ],
};

test.each(ENGINES)("%s: every table of the contract, and every column of it", (engine) => {
  const found = externalTables(engine, tables, placeOf(engine));
  expect(found.map(({ table }) => table)).toEqual(tables.map(({ name }) => name));
  for (const { table, statements } of found) {
    const text = statements.join("\n");
    expect(text).toContain(`/_symlink/${table}`);
    expect(text).not.toContain("set//");
    for (const { name } of tables.find((one) => one.name === table)?.columns ?? []) {
      expect(text).toContain(engine === "trino" ? `"${name}"` : `\`${name}\``);
    }
  }
});

test.each([
  ["athena", '`a"``b` array<string>', "'It\\'s a \\\\ row.'"],
  ["trino", '"a""`b" array(varchar)', "'It''s a \\ row.'"],
  ["spark", '`a"``b`', "'It\\'s a \\\\ row.'"],
  ["bigquery", '`a"``b` ARRAY<STRING>', "'It\\'s a \\\\ row.'"],
] as const)("%s: odd names and texts are quoted, long comments are cut", (engine, column, grain) => {
  const text = externalTables(engine, [odd], placeOf(engine))[0]?.statements.join("\n") ?? "";
  expect(text).toContain(column);
  expect(text).toContain(grain);
  expect(text).toContain(`${"x".repeat(254)}…`);
});

test.each([
  ["athena", "gs://lake/set"],
  ["bigquery", "s3://lake/set"],
  ["trino", "/srv/set"],
  ["spark", "az://lake/set"],
  ["athena", "abfss://lake@acme.dfs.core.windows.net/set"],
] as const)("%s does not read %s", (engine, place) => {
  expect(() => externalTables(engine, tables, place)).toThrow(
    expect.toSatisfy((error: unknown) => isCode(error, "USAGE")),
  );
});

test.each(["trino", "spark"] as const)("%s reads a set in a container of Azure", (engine) => {
  const place = "abfss://lake@acme.dfs.core.windows.net/set";
  const text = externalTables(engine, [odd], place)[0]?.statements.join("\n") ?? "";
  expect(text).toContain(`${place}/odd`);
  expect(text).toContain(`${place}/_symlink/odd`);
});
