// docs/DATA.md from a dictionary of a few made-up tables: what a reader finds in it.
import { expect, test } from "vitest";
import type { DictionaryColumn, DictionaryTable } from "../../../src/catalog/dictionary.ts";
import { renderDataDocument } from "../../support/documents/dictionary-document.ts";

const aColumn = (name: string, more: Partial<DictionaryColumn> = {}): DictionaryColumn => ({
  name,
  type: "VARCHAR",
  meaning: `The ${name}.`,
  sourceField: null,
  nullWhen: null,
  allowed: null,
  references: null,
  ...more,
});
const aTable = (
  name: string,
  columns: readonly DictionaryColumn[],
  more: Partial<DictionaryTable> = {},
): DictionaryTable => ({
  schema: "main",
  name,
  grain: `One row per ${name}.`,
  key: ["id"],
  source: `GET /v1/${name}`,
  columns,
  ...more,
});

const shared = aColumn("_run_id", { meaning: "Who wrote it." });
const firms = aTable("firms", [
  aColumn("id", { type: "BIGINT", sourceField: "firmId" }),
  aColumn("tags", { type: "VARCHAR[]", meaning: "Words | signs.", nullWhen: "never" }),
  shared,
]);
const deals = aTable("deals", [aColumn("id"), aColumn("firm_id", { references: "firms.id" }), shared]);
const profiles = aTable("profiles", [aColumn("firm_id", { references: "firms.id" })], { key: ["firm_id"] });
const old = aTable("firms", [aColumn("id"), aColumn("valid_to", { type: "TIMESTAMPTZ", meaning: "Its end." })], {
  schema: "history",
});
const view = aTable("best_firms", [aColumn("name", { type: "VARCHAR", meaning: "Its name." })], {
  schema: "marts",
  key: [],
});
const runs = aTable("runs", [aColumn("mode", { type: null, meaning: "How it ran." })], { schema: "sync", key: [] });
const text = renderDataDocument([firms, deals, profiles, old, view, runs]);

/** The text from a heading to the next one of its level or above. */
const section = (heading: string): string => {
  const level = heading.split(" ")[0]?.length ?? 0;
  const from = text.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`no ${heading}`);
  const rest = text.slice(from + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, "m"));
  return end < 0 ? rest : rest.slice(0, end);
};

test("a mirrored table has its grain, key, route, and its columns with type, meaning and API field", () => {
  const firmsSection = section("### firms");
  expect(firmsSection).toContain("One row per firms. Key: `id`. From GET /v1/firms.");
  expect(firmsSection).toContain("| `id` | BIGINT | The id. | `firmId` |  |");
});

test("a sign that ends a cell is escaped, so that a table keeps its columns", () => {
  expect(section("### firms")).toContain("| `tags` | VARCHAR[] | Words \\| signs. |  | never |");
});

test("columns of every table are shown once, with the tables that lack them", () => {
  expect(text.split("Who wrote it.").length).toBe(2);
  expect(section("### Columns of every table")).toContain("Without `_run_id`: `profiles`.");
});

test("the overview links to the tables, whose sections exist", () => {
  const links = [...section("## Schema main").matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
  expect(links).toEqual(["firms", "deals", "profiles"]);
  for (const link of links) expect(text).toContain(`\n### ${link}\n`);
  expect(section("## Schema marts")).toContain("[best_firms](#martsbest_firms)");
  expect(text).toContain("\n### marts.best_firms\n");
});

test("the diagram shows keys and references: many deals of a firm, one profile of it", () => {
  const diagram = /```mermaid\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  expect(diagram).toContain("  firms |o--o{ deals : firm_id");
  expect(diagram).toContain("  firms |o--o| profiles : firm_id");
  expect(diagram).toContain("    VARCHAR firm_id PK, FK");
  expect(diagram).toContain("    BIGINT id PK");
  expect(diagram).not.toContain("tags");
});

test("of history only the columns that main lacks are shown", () => {
  const history = section("## Schema history");
  expect(history).toContain("| `valid_to` | TIMESTAMPTZ | Its end. |");
  expect(history).not.toContain("| `id` |");
});

test("a table whose types only the database knows has no column for types", () => {
  expect(section("### sync.runs")).toContain("| column | meaning |\n| --- | --- |\n| `mode` | How it ran. |");
  expect(section("### marts.best_firms")).toContain("| column | type | meaning |");
});
