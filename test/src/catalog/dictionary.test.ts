import { expect, test } from "vitest";
import { catalogTables, streamOfTable } from "../../../src/catalog/dictionary.ts";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { describeViews } from "../../../src/warehouse/file/views.ts";
import { renderLlmsText, renderSkill } from "../../support/documents/assistant-documents.ts";
import { renderDataDocument } from "../../support/documents/dictionary-document.ts";

const dataDocument = async () => renderDataDocument([...catalogTables(), ...(await describeViews())]);

test("docs/DATA.md is what the catalog and the views say (npx vitest run test/src/catalog/dictionary.test.ts -u)", async () => {
  await expect(await dataDocument()).toMatchFileSnapshot("../../../docs/DATA.md");
});

test("docs/llms.txt and the skill for assistants name every table and view (the same command writes them)", async () => {
  const tables = [...catalogTables(), ...(await describeViews())];
  for (const [text, file] of [
    [renderLlmsText(tables), "llms.txt"],
    [renderSkill(tables), "skill/SKILL.md"],
  ] as const) {
    expect(TABLE_NAMES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
    expect(text).toContain("`marts.account_360`");
    await expect(text).toMatchFileSnapshot(`../../../docs/${file}`);
  }
});

test("every column has a meaning and says when it is NULL", () => {
  for (const { schema, name, columns } of catalogTables()) {
    for (const column of columns) {
      expect(column.meaning, `${schema}.${name}.${column.name}`).toMatch(/\.$/);
      if (schema !== "sync") expect(column.nullWhen, `${schema}.${name}.${column.name}`).not.toBeNull();
    }
  }
});

test("what a column refers to exists", () => {
  const tables = catalogTables();
  const references = tables.flatMap(({ columns }) =>
    columns.flatMap(({ references: to }) => (to === null ? [] : [to])),
  );
  expect(new Set(references)).toEqual(new Set(["companies.id", "owners.id", "accounts.id"]));
  for (const reference of references) {
    const [table, column] = reference.split(".");
    const found = tables.find(({ schema, name }) => schema === "main" && name === table);
    expect(found?.key).toEqual([column]);
  }
});

test("opt-in content, details and required fields each say in their own way when they are NULL", () => {
  const columnOf = (table: string, column: string) =>
    catalogTables()
      .find(({ schema, name }) => schema === "main" && name === table)
      ?.columns.find(({ name }) => name === column);
  expect(columnOf("news_articles", "article_body")?.nullWhen).toContain("`content` does not name articleBody");
  expect(columnOf("signals", "full_content")?.nullWhen).toContain("detail route");
  expect(columnOf("accounts", "type")?.nullWhen).toContain("rules out");
  expect(columnOf("accounts", "id")?.nullWhen).toBe("never");
  expect(columnOf("accounts", "type")?.allowed).toContain("open-opportunity");
  expect(columnOf("contacts", "account_id")?.references).toBe("accounts.id");
});

test("every table knows the stream to sync for it", () => {
  expect(Object.fromEntries(TABLE_NAMES.map((name) => [name, streamOfTable(name)]))).toMatchObject({
    owners: "accounts",
    company_inputs: "companies",
    usage_limits: "usage",
    filings: "filings",
  });
});

test("the diagram draws every table of main and escapes nothing GitHub trips over", async () => {
  const text = await dataDocument();
  const [, diagram = ""] = /```mermaid\n([\s\S]*?)```/.exec(text) ?? [];
  for (const name of TABLE_NAMES) expect(diagram).toContain(`  ${name} {\n`);
  for (const line of diagram.trim().split("\n").slice(1)) {
    expect(line).toMatch(/^( {2}\w+ (\|o--o[{|] \w+ : \w+|\{)| {4}\w+ \w+ (PK|FK|PK, FK)| {2}\})$/);
  }
});

test("docs/DATA.md names each column of history and each table without a shared column", async () => {
  const text = await dataDocument();
  const [, history = ""] = /## Schema history\n([\s\S]*?)\n## /.exec(text) ?? [];
  for (const name of ["valid_from", "valid_to", "change", "change_n"]) expect(history).toContain(`| \`${name}\` |`);
  const lacking = catalogTables()
    .filter(({ schema, columns }) => schema === "main" && !columns.some(({ name }) => name === "_in_scope"))
    .map(({ name }) => `\`${name}\``);
  expect(text).toContain(`Without \`_in_scope\`: ${lacking.join(", ")}.`);
});
