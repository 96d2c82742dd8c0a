// The OpenAPI 3.1 document, written from the table of routes. PURE.
import { ENDPOINTS, hasUsage, type ParamSpec, type RouteSpec } from "../../catalog/endpoints.ts";
import type { ColumnType, FieldSpec } from "../../catalog/fields.ts";
import * as resource from "../../catalog/resources.ts";
import { FEEDBACK_CATEGORIES, SIGNAL_TYPES } from "../../catalog/resources.ts";
import { isCompanyTable, TABLE_NAMES, type TableName, tableSpec } from "../../catalog/tables.ts";
import { API_VERSION } from "../envelope.ts";

// JSON schemas of responses: resources from the catalog, the rest by hand. PURE.
// Source: API.md, "Resources and their fields".

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

/** Schema of `data` that holds no records. */
const ITEM: Readonly<Partial<Record<RouteSpec["shape"], string>>> = {
  counts: "SignalCounts",
  usage: "Usage",
  limits: "UsageLimits",
  feedback: "FeedbackReceipt",
};

/** Name of the schema of one item of `data`. */
const itemOf = ({ shape, table }: RouteSpec): string => (table === null ? (ITEM[shape] ?? "") : schemaName(table));

const valueSchema = (param: ParamSpec): Schema => {
  const { min, max, allowed } = param;
  const fallback = param.default === undefined ? {} : { default: param.default };
  if (param.type === "number") {
    const bounds = { ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) };
    return { type: "integer", ...bounds, ...fallback };
  }
  if (param.type === "choice") return { type: "string", enum: allowed, ...fallback };
  return { type: "string", ...fallback };
};

/** What differs where the routes are served from a mirror; null: the sandbox, which is as the service. */
type OfMirror = { readonly maxPerPage: number } | null;

const parameter = (place: "path" | "query", mirror: OfMirror) => (param: ParamSpec) => ({
  name: param.name,
  in: place,
  required: place === "path",
  description:
    param.type === "csv" || param.type === "choices"
      ? `${param.meaning} Comma-separated${param.allowed === undefined ? "" : `: ${param.allowed.join(", ")}`}.`
      : param.meaning,
  schema: valueSchema(mirror === null || param.name !== "perPage" ? param : { ...param, max: mirror.maxPerPage }),
});

/** Members of the 200 body beside `meta`. */
const bodyMembers = (route: RouteSpec): { properties: Record<string, Schema>; required: readonly string[] } => {
  const item = ref(itemOf(route));
  if (route.shape === "insight") {
    return {
      properties: {
        status: { type: "string", enum: ["found", "multiple_matches", "not_found"] },
        message: { type: "string" },
        data: item,
        candidates: { type: "array", items: ref("Candidate") },
        bestMatch: ref("Candidate"),
      },
      required: ["status"],
    };
  }
  return { properties: { data: route.shape === "list" ? { type: "array", items: item } : item }, required: ["data"] };
};

/** Schema of the body of a 200. Without `onlyWithFields`; with it, records hold the named fields only. */
const okSchema = (route: RouteSpec): Schema => {
  const { properties, required } = bodyMembers(route);
  const includes = route.query.some(({ name }) => name === "include");
  return {
    type: "object",
    required: [...required, "meta", ...(hasUsage(route) ? ["usage"] : [])],
    properties: {
      ...properties,
      ...(includes ? { included: { type: "object", additionalProperties: true } } : {}),
      meta: ref(route.shape === "list" ? "ListMeta" : "Meta"),
      ...(hasUsage(route) ? { usage: ref("Quota") } : {}),
    },
  };
};

const json = (schema: Schema) => ({ content: { "application/json": { schema } } });
const failure = (description: string) => ({ description, ...json(ref("Error")) });

const operation = (route: RouteSpec, mirror: OfMirror) => ({
  operationId: route.name,
  summary: route.summary,
  tags: [route.tier === "full" ? "Full Access" : route.tier === "public" ? "Public API" : "Organization"],
  parameters: [...route.pathParams.map(parameter("path", mirror)), ...route.query.map(parameter("query", mirror))],
  ...(route.shape === "feedback" ? { requestBody: { required: true, ...json(ref("Feedback")) } } : {}),
  responses: {
    "200": { description: "Costs one credit.", ...json(okSchema(route)) },
    "400": failure("A parameter is not valid."),
    "401": failure("The token is missing or not valid."),
    "402": failure("The organization's credits are used up."),
    ...(route.notFound === undefined ? {} : { "404": failure(route.notFound) }),
    ...(mirror !== null && route.shape === "feedback"
      ? { "405": failure("A mirror sends no feedback: it would cost a credit.") }
      : {}),
    "429": failure("Too many requests; Retry-After says when to come back."),
  },
});

/** The document; `serverUrl` is where the routes are served, without `/v1`. */
export const openApiDocument = (serverUrl: string, mirror: OfMirror = null) => ({
  openapi: "3.1.0",
  info: {
    title: "Account Intelligence Read API",
    version: API_VERSION,
    description: "Served by duckmirror from a DuckDB warehouse.",
  },
  servers: [{ url: serverUrl }],
  security: [{ bearer: [] }],
  paths: Object.fromEntries(
    Object.values(ENDPOINTS).map((route) => [route.path, { [route.method.toLowerCase()]: operation(route, mirror) }]),
  ),
  components: {
    securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    schemas: COMPONENT_SCHEMAS,
  },
});
