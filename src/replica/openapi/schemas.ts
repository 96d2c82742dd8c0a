// JSON schemas of responses: resources from the catalog, the rest by hand. PURE.
// Source: API.md, "Resources and their fields".
import type { ColumnType, FieldSpec } from "../../catalog/fields.ts";
import * as resource from "../../catalog/resources.ts";
import { FEEDBACK_CATEGORIES, SIGNAL_TYPES } from "../../catalog/resources.ts";
import { isCompanyTable, TABLE_NAMES, type TableName, tableSpec } from "../../catalog/tables.ts";

export interface Schema {
  readonly [keyword: string]: unknown;
}

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const TYPES: Readonly<Record<ColumnType, Schema>> = {
  VARCHAR: { type: "string" },
  BIGINT: { type: "integer" },
  INTEGER: { type: "integer" },
  DOUBLE: { type: "number" },
  BOOLEAN: { type: "boolean" },
  TIMESTAMPTZ: { type: "string" },
  JSON: { type: "object", additionalProperties: true },
  "VARCHAR[]": { type: "array", items: { type: "string" } },
};

const fieldSchema = (field: FieldSpec): Schema => ({
  ...TYPES[field.columnType],
  description: [
    field.meaning,
    field.columnType === "TIMESTAMPTZ" ? "ISO 8601." : "",
    field.optIn ? "Returned only when named in onlyWithFields." : "",
  ]
    .filter((sentence) => sentence !== "")
    .join(" "),
  ...(field.allowed === undefined ? {} : { enum: field.allowed }),
});

const resourceSchema = (fields: readonly FieldSpec[]): Schema => ({
  type: "object",
  required: fields.filter(({ required }) => required).map(({ name }) => name),
  properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
});

const texts = { type: "array", items: { type: "string" } };
const object = (properties: Record<string, Schema>, required: readonly string[] = []): Schema => ({
  type: "object",
  required,
  properties,
});
const listsOf = (...names: string[]): Record<string, Schema> => Object.fromEntries(names.map((name) => [name, texts]));
const numbersOf = (...names: string[]): Record<string, Schema> =>
  Object.fromEntries(names.map((name) => [name, { type: "number" }]));
const textsOf = (...names: string[]): Record<string, Schema> =>
  Object.fromEntries(names.map((name) => [name, { type: "string" }]));
const anything = { type: "object", additionalProperties: true };

const insight = object(
  {
    profile: object(
      {
        accountId: { type: "integer" },
        ...textsOf(
          "name",
          "domain",
          "logoUrl",
          "description",
          "headquartersLocation",
          "industry",
          "type",
          "countryCode",
        ),
        ...numbersOf("numberOfEmployees", "score", "priority"),
        ...textsOf("addedOn", "lastRefreshAt"),
        owner: anything,
        links: anything,
      },
      ["accountId"],
    ),
    summary: object({
      ...listsOf("keyInsights", "opportunities", "challenges", "peopleUpdates", "topNews", "talkingPoints"),
      executivePerspective: {
        type: "array",
        items: object(textsOf("quote", "attribution"), ["quote", "attribution"]),
      },
    }),
    research: object({
      ...listsOf("companyOverview", "keyPeopleChanges", "keyProjects", "aspirations", "businessGoals", "opportunities"),
      ...listsOf("macroeconomicPerspective", "recentPressAnnouncements", "strategicInitiatives", "financials"),
      businessModel: anything,
    }),
    swotAnalysis: object(listsOf("strengths", "weaknesses", "opportunities", "threats")),
    value: object({
      threeWhys: anything,
      valuePyramid: anything,
      ...listsOf("valuePropositionIdeas", "valueHypothesis", "pointOfView"),
    }),
  },
  ["profile"],
);

const figures = ["requests", "successful", "failed"];

/** Name of the schema of one row: `news_articles` → NewsArticle. */
export const schemaName = (table: TableName): string =>
  table
    .replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
    .replace(/ies$/, "y")
    .replace(/s$/, "");

/** `components.schemas` of the document. */
export const COMPONENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Account: resourceSchema(resource.account),
  Contact: resourceSchema(resource.contact),
  Signal: resourceSchema(resource.signal),
  Company: resourceSchema(resource.company),
  ...Object.fromEntries(
    TABLE_NAMES.filter(isCompanyTable).map((table) => [schemaName(table), resourceSchema(tableSpec(table).fields)]),
  ),
  UsageRequest: resourceSchema(resource.usageRequest),
  SignalCounts: {
    type: "object",
    description: "Empty for organizations without Full Access.",
    properties: numbersOf("all", "accounts", ...SIGNAL_TYPES),
    additionalProperties: { type: "number" },
  },
  AccountInsight: insight,
  Candidate: object({ accountId: { type: "integer" }, ...textsOf("name", "domain") }, ["accountId"]),
  Quota: object({ ...numbersOf("limit", "used", "remaining"), ...textsOf("resetsAt") }, [
    "limit",
    "used",
    "remaining",
    "resetsAt",
  ]),
  Usage: object(
    {
      window: { type: "string", enum: ["daily", "monthly", "custom"] },
      ...textsOf("from", "to"),
      quota: ref("Quota"),
      totals: object(numbersOf(...figures), figures),
      breakdown: {
        type: "array",
        items: object({ ...textsOf("key"), ...numbersOf(...figures) }, ["key", ...figures]),
      },
    },
    ["window", "from", "to", "quota", "totals"],
  ),
  UsageLimits: { type: "object", additionalProperties: true, description: "Contracted daily and monthly limits." },
  FeedbackReceipt: { type: "object", additionalProperties: true },
  Feedback: object(
    {
      message: { type: "string", minLength: 1 },
      rating: { type: "number", minimum: 1, maximum: 5 },
      category: { type: "string", enum: FEEDBACK_CATEGORIES },
      context: anything,
    },
    ["message"],
  ),
  Meta: object(textsOf("requestId", "apiVersion", "timestamp"), ["requestId", "apiVersion", "timestamp"]),
  ListMeta: object(
    { ...textsOf("requestId", "apiVersion", "timestamp"), ...numbersOf("page", "perPage", "totalCount", "totalPages") },
    ["requestId", "apiVersion", "timestamp", "page", "perPage", "totalCount", "totalPages"],
  ),
  Error: object({ error: object(textsOf("code", "message"), ["code", "message"]) }, ["error"]),
};
