// The OpenAPI 3.1 document, written from the table of routes. PURE.

import { ENDPOINTS, hasUsage, type ParamSpec, type RouteSpec } from "../../catalog/endpoints.ts";
import { API_VERSION } from "../envelope.ts";
import { COMPONENT_SCHEMAS, ref, type Schema, schemaName } from "./schemas.ts";

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
