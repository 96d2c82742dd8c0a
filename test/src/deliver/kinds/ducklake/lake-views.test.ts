// Which of the analysts' views a lake can have.
import { expect, test } from "vitest";
import { possibleViews } from "../../../../../src/deliver/kinds/ducklake/table-sql.ts";

const view = (name: string, from: string) => ({
  view_name: name,
  sql: `CREATE VIEW marts.${name} AS SELECT 1 FROM ${from};`,
});
const names = (tables: readonly string[], ...views: readonly ReturnType<typeof view>[]) =>
  possibleViews(views, tables).map(({ view_name: name }) => name);

test("views over delivered tables, each after those it needs", () => {
  expect(names(["signals"], view("b", "marts.a"), view("a", "main.signals"))).toEqual(["a", "b"]);
});

test("no view over history, over duckmirror's own tables, over a table or a view that is not there", () => {
  const views = [
    view("old", "history.signals"),
    view("runs", "sync.runs"),
    view("c", "main.contacts"),
    view("d", "marts.c"),
  ];
  expect(names(["signals"], ...views)).toEqual([]);
});

test("a function that DuckDB writes with its schema is not a table", () => {
  expect(names(["signals"], view("days", "main.signals WHERE main.timezone('UTC', date) IS NULL"))).toEqual(["days"]);
});
