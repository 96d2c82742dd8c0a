// The catalog against the API document's field tables: nothing missing, nothing typed differently, nothing invented.
// The document itself is not part of this repository; api-fields.json is what was read from it, and stands in for it.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { FieldSpec } from "../../../src/catalog/fields.ts";
import * as catalog from "../../../src/catalog/resources.ts";
import { readApiDocument } from "../../support/api-document.ts";
import { apiFields } from "../../support/api-fields.ts";

const documentFile = new URL("../../../../shared/API.md", import.meta.url);
const fixtureFile = new URL("../../support/api-fields.json", import.meta.url);

/** One text per field, such as `string required`, so that the fixture reads like the document. */
const compact = ({ resources, enumerations }: ReturnType<typeof readApiDocument>) => ({
  resources: Object.fromEntries(
    Object.entries(resources).map(([name, fields]) => [
      name,
      Object.fromEntries(
        Object.entries(fields).map(([field, { type, required, optIn }]) => [
          field,
          [type ?? "untyped", ...(required ? ["required"] : []), ...(optIn ? ["opt-in"] : [])].join(" "),
        ]),
      ),
    ]),
  ),
  enumerations: Object.fromEntries(Object.entries(enumerations).map(([place, values]) => [place, values.join(", ")])),
});

/** Resources of which the document says for each field whether it is required and opt-in. */
const PRECISE: Readonly<Record<string, readonly FieldSpec[]>> = {
  Account: catalog.account,
  Contact: catalog.contact,
  Signal: catalog.signal,
  "Company (public)": catalog.company,
  "News article": catalog.newsArticle,
  "Job opening": catalog.jobOpening,
  "Earnings call": catalog.earningsCall,
  Filing: catalog.filing,
};
const RESOURCES: Readonly<Record<string, readonly FieldSpec[]>> = {
  ...PRECISE,
  "Account insight": catalog.accountInsight,
  "Usage records: Quota": catalog.usageSnapshot,
  "Usage records: Breakdown row": catalog.usageBreakdown,
  "Usage records: Request history item": catalog.usageRequest,
};

/** Column types that an API type may become. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  string: ["VARCHAR", "TIMESTAMPTZ"],
  number: ["BIGINT", "INTEGER", "DOUBLE"],
  boolean: ["BOOLEAN"],
  object: ["JSON"],
  "string[]": ["VARCHAR[]"],
};
const NAMES_A_TIME = /(At|On|Date|Since)$|^date/;

test("the fixture is what the document says, where the document is at hand", async () => {
  if (!existsSync(documentFile)) return expect(Object.keys(apiFields.resources)).toEqual(Object.keys(RESOURCES));
  const read = JSON.stringify(compact(readApiDocument(readFileSync(documentFile, "utf8"))), null, 2);
  await expect(`${read}\n`).toMatchFileSnapshot(fixtureFile.pathname);
});

test("every documented resource is in the catalog", () => {
  expect(Object.keys(apiFields.resources)).toEqual(Object.keys(RESOURCES));
});

describe.each(Object.entries(RESOURCES))("%s", (name, fields) => {
  const wanted = apiFields.resources[name] ?? {};

  test("has every documented field, with its type", () => {
    expect(Object.keys(wanted).length).toBeGreaterThan(3);
    for (const [field, text] of Object.entries(wanted)) {
      const found = fields.find((each) => each.name === field);
      expect(found, `${name}.${field}`).toBeDefined();
      if (!text.startsWith("untyped")) expect(found?.apiType, `${name}.${field}`).toBe(text.split(" ")[0]);
    }
  });

  test("stores every field in a column that can hold its type, and times as times", () => {
    for (const field of fields.filter((each) => Object.hasOwn(wanted, each.name))) {
      expect(COLUMNS[field.apiType], `${name}.${field.name}`).toContain(field.columnType);
      if (field.apiType !== "string") continue;
      expect(field.columnType === "TIMESTAMPTZ", `${name}.${field.name}`).toBe(NAMES_A_TIME.test(field.name));
    }
  });
});

test.each(Object.entries(PRECISE))(
  "%s has no field but the documented ones, required and opt-in as they are",
  (name, fields) => {
    const found = fields.map(({ name: field, apiType, required, optIn }) => [
      field,
      [apiType, ...(required ? ["required"] : []), ...(optIn ? ["opt-in"] : [])].join(" "),
    ]);
    expect(found).toEqual(Object.entries(apiFields.resources[name] ?? {}));
  },
);

test("documented enumerations are in the catalog, value by value", () => {
  expect(Object.keys(apiFields.enumerations).length).toBeGreaterThanOrEqual(5);
  for (const [place, values] of Object.entries(apiFields.enumerations)) {
    const [resource = "", name] = place.split(".");
    const field = RESOURCES[resource]?.find((each) => each.name === name);
    expect(field?.allowed?.join(", "), place).toBe(values);
  }
});
