// The data dictionary, and the documents that are written from it and from the views.
import { expect, test } from "vitest";
import { catalogTables, streamOfTable } from "../../../src/catalog/dictionary.ts";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { describeViews } from "../../../src/warehouse/file/views.ts";
import { renderLlmsText, renderSkill } from "../../support/documents/assistant-documents.ts";
import { renderDbtSources } from "../../support/documents/dbt-sources.ts";
import { renderDataDocument } from "../../support/documents/dictionary-document.ts";

const tables = [...catalogTables(), ...(await describeViews())];

test.each([
  ["DATA.md", renderDataDocument],
  ["llms.txt", renderLlmsText],
  ["skill/SKILL.md", renderSkill],
  ["integrations/dbt/models/sources.yml", renderDbtSources],
])("docs/%s is what the catalog and the views say (npx vitest run test/src/catalog -u)", async (file, render) => {
  await expect(render(tables)).toMatchFileSnapshot(`../../../docs/${file}`);
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
  const references = tables.flatMap(({ columns }) => columns.flatMap(({ references: to }) => to ?? []));
  expect(new Set(references)).toEqual(new Set(["companies.id", "owners.id", "accounts.id"]));
  for (const reference of references) {
    const [table, column] = reference.split(".");
    const found = tables.find(({ schema, name }) => schema === "main" && name === table);
    expect(found?.key).toEqual([column]);
  }
});

test("every table knows the stream to sync for it", () => {
  expect(Object.fromEntries(TABLE_NAMES.map((name) => [name, streamOfTable(name)]))).toMatchObject({
    owners: "accounts",
    company_inputs: "companies",
    usage_limits: "usage",
    filings: "filings",
  });
});
