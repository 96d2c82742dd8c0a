import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { catalogTables } from "../../../src/catalog/dictionary.ts";
import { describeViews } from "../../../src/warehouse/file/views.ts";
import { renderDbtSources } from "../../support/documents/dbt-sources.ts";

const sourcesFile = z.object({
  sources: z.array(
    z.object({
      name: z.string(),
      tables: z.array(
        z.object({
          name: z.string(),
          columns: z.array(z.object({ name: z.string(), data_tests: z.array(z.unknown()).optional() })),
        }),
      ),
    }),
  ),
});

test("dbt's sources.yml is what the catalog and the views say (npx vitest run test/src/catalog/dbt-sources.test.ts -u)", async () => {
  const tables = [...catalogTables(), ...(await describeViews())];
  const text = renderDbtSources(tables);
  const { sources } = sourcesFile.parse(parse(text));
  const named = sources.flatMap(({ name, tables: found }) => found.map((table) => `${name}.${table.name}`));
  expect([...named].sort()).toEqual(tables.map(({ schema, name }) => `${schema}.${name}`).sort());
  const filings = sources[0]?.tables.find(({ name }) => name === "filings")?.columns ?? [];
  expect(filings.find(({ name }) => name === "id")?.data_tests).toEqual(["not_null"]);
  const accounts = sources[0]?.tables.find(({ name }) => name === "accounts")?.columns ?? [];
  expect(accounts.find(({ name }) => name === "id")?.data_tests).toEqual(["not_null", "unique"]);
  await expect(text).toMatchFileSnapshot("../../../docs/integrations/dbt/models/sources.yml");
});
