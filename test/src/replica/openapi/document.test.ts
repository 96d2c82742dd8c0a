// The OpenAPI document: valid, complete, and true: what the routes answer fits the schemas in it.
import { existsSync, readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ENDPOINTS } from "../../../../src/catalog/endpoints.ts";
import { openApiDocument } from "../../../../src/replica/openapi/document.ts";
import { first, get, send, sharedSandbox, walk } from "../../sandbox/sandbox-client.ts";

const sandbox = sharedSandbox();

const documentSchema = z.object({
  openapi: z.string(),
  servers: z.array(z.object({ url: z.string() })),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        parameters: z.array(z.object({ name: z.string(), in: z.enum(["path", "query"]) })),
        responses: z.record(
          z.string(),
          z.looseObject({ content: z.record(z.string(), z.object({ schema: z.unknown() })) }),
        ),
      }),
    ),
  ),
});

const served = async () => {
  const reply = await fetch(`${sandbox().url}/openapi.json`);
  expect(reply.status).toBe(200);
  return reply.text();
};

test("it is served without a token and passes the validator", async () => {
  const text = await served();
  const result = await new Validator().validate(JSON.parse(text));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
  expect(documentSchema.parse(JSON.parse(text)).openapi).toBe("3.1.0");
  expect(documentSchema.parse(JSON.parse(text)).servers).toEqual([{ url: sandbox().url }]);
});

/** Endpoints and their query parameters as API.md lists them. */
const DOCUMENTED: Readonly<Record<string, string>> = {
  "GET /v1/account-insights": "accountId domain query include contactsLimit signalsLimit sections",
  "GET /v1/accounts":
    "view perPage page sortBy sortOrder onlyWithFields include textQuery ids domain companyId ownerId type priority hasSignalsOfType hasSignalsAfterDate",
  "GET /v1/accounts/{accountId}": "view onlyWithFields include signalsLimit contactsLimit",
  "GET /v1/contacts":
    "perPage page sortBy sortOrder onlyWithFields include accountId textQuery currentTitleTextQuery type changeType isInCurrentRoleBeforeDate isInCurrentRoleAfterDate lastChangeDetectedBefore lastChangeDetectedAfter",
  "GET /v1/contacts/{contactId}": "onlyWithFields include",
  "GET /v1/signals": "perPage page sortBy sortOrder onlyWithFields textQuery accountId type afterDate beforeDate",
  "GET /v1/signals/counts": "textQuery accountId afterDate beforeDate",
  "GET /v1/signals/{signalId}": "onlyWithFields",
  "GET /v1/companies/by-input/{companyInputId}": "view onlyWithFields include",
  "GET /v1/companies/{companyId}": "view onlyWithFields include",
  "GET /v1/companies/{companyId}/news-articles": "view perPage page onlyWithFields",
  "GET /v1/companies/{companyId}/job-openings": "view perPage page onlyWithFields",
  "GET /v1/companies/{companyId}/earnings-calls": "view perPage page onlyWithFields",
  "GET /v1/companies/{companyId}/filings": "view perPage page onlyWithFields",
  "GET /v1/usage": "window organizationId groupBy from to",
  "GET /v1/usage/requests": "window organizationId perPage page from to",
  "GET /v1/usage/limits": "organizationId",
  "POST /v1/feedback": "",
};

test("every endpoint has every parameter, and there are no others", () => {
  const { paths } = documentSchema.parse(JSON.parse(JSON.stringify(openApiDocument("http://localhost"))));
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters }]) => {
      const query = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
      return [`${method.toUpperCase()} ${path}`, query.sort().join(" ")];
    }),
  );
  const expected = Object.entries(DOCUMENTED).map(([name, query]) => [name, query.split(" ").sort().join(" ")]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
});

test("the list above is API.md's, where the document is at hand", () => {
  const file = new URL("../../../../../shared/API.md", import.meta.url);
  const text = existsSync(file) ? readFileSync(file, "utf8") : Object.keys(DOCUMENTED).join("\n");
  const paths = [...text.matchAll(/(?:### |^\| |^)((?:GET |POST )?\/v1\/[^\s|`]+)/gm)].map(([, path = ""]) =>
    /^(GET|POST) /.test(path) ? path : `GET ${path}`,
  );
  expect([...new Set(paths)].sort()).toEqual(Object.keys(DOCUMENTED).sort());
});

describe("real answers fit the schemas", () => {
  const schemaSchema = z.record(z.string(), z.unknown());
  /** A resource may hold nothing beyond what the document names. */
  const closed = (schema: unknown) => ({ additionalProperties: false, ...schemaSchema.parse(schema) });

  /** The response schema of a route as a parser. */
  const parserOf = async (path: string, method: string) => {
    const { paths, components } = documentSchema.parse(JSON.parse(await served()));
    const schema = paths[path]?.[method]?.responses["200"]?.content["application/json"]?.schema;
    const $defs = Object.fromEntries(Object.entries(components.schemas).map(([name, one]) => [name, closed(one)]));
    const whole = { $defs, ...schemaSchema.parse(schema) };
    return z.fromJSONSchema(JSON.parse(JSON.stringify(whole).replaceAll("#/components/schemas/", "#/$defs/")));
  };

  test.each(Object.values(ENDPOINTS))("$name", async (route) => {
    const account = first((await walk(sandbox(), "/v1/accounts")).filter(({ companyId }) => companyId !== undefined));
    const listed = first((await walk(sandbox(), "/v1/signals?type=earnings-call")).map(({ accountId }) => accountId));
    const withCalls = (await walk(sandbox(), "/v1/accounts")).find(({ id, companyId }) => id === listed && companyId);
    const company = String(withCalls?.companyId ?? account.companyId);
    const ids: Readonly<Record<string, unknown>> = {
      accountId: account.id,
      contactId: first(await walk(sandbox(), "/v1/contacts")).id,
      signalId: first(await walk(sandbox(), "/v1/signals")).id,
      companyId: company,
      companyInputId: company,
    };
    const path = route.path.replace(/\{(\w+)\}/g, (_, param: string) => String(ids[param]));
    const query = new Map([
      ["getAccountInsight", `?accountId=${account.id}&include=contacts,signals`],
      ["listAccounts", "?include=company,owner&perPage=100"],
      ["listContacts", "?include=account&perPage=100"],
      ["getUsage", "?groupBy=endpoint"],
    ]).get(route.name);
    const reply =
      route.method === "POST"
        ? await send(sandbox(), path, { method: "POST", body: JSON.stringify({ message: "Hello" }) })
        : await send(sandbox(), `${path}${query ?? (route.shape === "list" ? "?perPage=100" : "")}`);
    expect(reply.status).toBe(200);
    const parser = await parserOf(route.path, route.method.toLowerCase());
    const parsed = parser.safeParse(JSON.parse(reply.text));
    expect(parsed.error?.issues ?? []).toEqual([]);
    expect(parser.safeParse({ ...JSON.parse(reply.text), meta: undefined }).success).toBe(false);
  });

  test("refusals carry the documented error", async () => {
    expect((await get(sandbox(), "/v1/accounts?perPage=0", 400)).error?.message).toBe("perPage must be at least 1.");
  });
});
