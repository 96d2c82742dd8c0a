// The OpenAPI document: valid, complete, and true: what the routes answer fits the schemas in it.
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, test } from "vitest";
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

test("every route of the catalog has its query parameters, and there are no others", () => {
  const { paths } = documentSchema.parse(JSON.parse(JSON.stringify(openApiDocument("http://localhost"))));
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters }]) => {
      const query = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
      return [`${method.toUpperCase()} ${path}`, query.sort()];
    }),
  );
  const routes = Object.values(ENDPOINTS);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(
      routes.map(({ method, path, query }) => [`${method} ${path}`, query.map(({ name }) => name).sort()]),
    ),
  );
});

describe("real answers fit the schemas", () => {
  const schemaSchema = z.record(z.string(), z.unknown());
  /** A resource may hold nothing beyond what the document names. */
  const closed = (schema: unknown) => ({ additionalProperties: false, ...schemaSchema.parse(schema) });

  let document: z.infer<typeof documentSchema>;
  let ids: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    document = documentSchema.parse(JSON.parse(await served()));
    const called = new Set((await walk(sandbox(), "/v1/signals?type=earnings-call")).map(({ accountId }) => accountId));
    const accounts = (await walk(sandbox(), "/v1/accounts")).filter(({ companyId }) => companyId !== undefined);
    const account = first(accounts.filter(({ id }) => called.has(id)));
    ids = {
      accountId: account.id,
      contactId: first(await walk(sandbox(), "/v1/contacts")).id,
      signalId: first(await walk(sandbox(), "/v1/signals")).id,
      companyId: account.companyId,
      companyInputId: account.companyId,
    };
  });

  /** The response schema of a route as a parser. */
  const parserOf = (path: string, method: string) => {
    const { paths, components } = document;
    const schema = paths[path]?.[method]?.responses["200"]?.content["application/json"]?.schema;
    const $defs = Object.fromEntries(Object.entries(components.schemas).map(([name, one]) => [name, closed(one)]));
    const whole = { $defs, ...schemaSchema.parse(schema) };
    return z.fromJSONSchema(JSON.parse(JSON.stringify(whole).replaceAll("#/components/schemas/", "#/$defs/")));
  };

  test.each(Object.values(ENDPOINTS))("$name", async (route) => {
    const path = route.path.replace(/\{(\w+)\}/g, (_, param: string) => String(ids[param]));
    const query = new Map([
      ["getAccountInsight", `?accountId=${ids.accountId}&include=contacts,signals`],
      ["listAccounts", "?include=company,owner&perPage=100"],
      ["listContacts", "?include=account&perPage=100"],
      ["getUsage", "?groupBy=endpoint"],
    ]).get(route.name);
    const reply =
      route.method === "POST"
        ? await send(sandbox(), path, { method: "POST", body: JSON.stringify({ message: "Hello" }) })
        : await send(sandbox(), `${path}${query ?? (route.shape === "list" ? "?perPage=100" : "")}`);
    expect(reply.status).toBe(200);
    const parser = parserOf(route.path, route.method.toLowerCase());
    const parsed = parser.safeParse(JSON.parse(reply.text));
    expect(parsed.error?.issues ?? []).toEqual([]);
    expect(parser.safeParse({ ...JSON.parse(reply.text), meta: undefined }).success).toBe(false);
  });

  test("refusals carry the documented error", async () => {
    expect((await get(sandbox(), "/v1/accounts?perPage=0", 400)).error?.message).toBe("perPage must be at least 1.");
  });
});
