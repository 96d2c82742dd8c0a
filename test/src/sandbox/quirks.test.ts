// Faults that can be switched on: each changes exactly what it says.
import { describe, expect, test } from "vitest";
import type { IncludedShape } from "../../../src/replica/envelope.ts";
import { first, get, many, one, send, sharedSandbox, walk } from "./sandbox-client.ts";

const sandbox = sharedSandbox({ maxPerPage: 1000 });
const big = sharedSandbox({ accounts: 2, bigIds: true });

const ids = (value: unknown) => many(value).map(({ id }) => id);

describe("quirks", () => {
  test("a silent clamp serves fewer rows than asked, and says the asked size or the served one", async () => {
    const whole = ids((await get(sandbox(), "/v1/contacts?sortBy=id&perPage=1000")).data);
    sandbox().setQuirks({ silentClamp: 10 });
    const clamped = await get(sandbox(), "/v1/contacts?sortBy=id&perPage=30&page=2");
    expect(clamped.meta).toMatchObject({ perPage: 30, totalCount: whole.length });
    expect(ids(clamped.data)).toEqual(whole.slice(30, 40));
    sandbox().setQuirks({ silentClamp: { rows: 10, offsets: "served", meta: "served" } });
    const honest = await get(sandbox(), "/v1/contacts?sortBy=id&perPage=30&page=2");
    expect(honest.meta).toMatchObject({ perPage: 10 });
    expect(ids(honest.data)).toEqual(whole.slice(10, 20));
  });

  test("sorting can be ignored or refused", async () => {
    sandbox().setQuirks({});
    const byScore = ids((await get(sandbox(), "/v1/accounts")).data);
    sandbox().setQuirks({ ignoreSort: true });
    expect(ids((await get(sandbox(), "/v1/accounts?sortBy=id&sortOrder=asc")).data)).toEqual(byScore);
    sandbox().setQuirks({ refuseSort: true });
    await get(sandbox(), "/v1/accounts?sortBy=id", 400);
    await get(sandbox(), "/v1/accounts");
    sandbox().setQuirks({ refuseSort: ["updatedAt"] });
    await get(sandbox(), "/v1/accounts?sortBy=updatedAt", 400);
    await get(sandbox(), "/v1/accounts?sortBy=id");
  });

  test.each(["plural-array", "singular-array", "map", "object", "none"] as const)(
    "related records come as %s",
    async (includedShape: IncludedShape) => {
      sandbox().setQuirks({});
      const path = "/v1/accounts?include=company&perPage=1000";
      const companies = many((await get(sandbox(), path)).included?.companies);
      sandbox().setQuirks({ includedShape });
      const { included } = await get(sandbox(), path);
      const expected = {
        "plural-array": { companies },
        "singular-array": { company: companies },
        map: { companies: Object.fromEntries(companies.map((company) => [company.id, company])) },
        object: { company: first(companies) },
        none: undefined,
      }[includedShape];
      expect(included).toEqual(expected);
    },
  );

  test("records and meta can be altered without losing a digit", async () => {
    sandbox().setQuirks({});
    const account = first(await walk(sandbox(), "/v1/accounts"));
    sandbox().setQuirks({ numberAsString: true, omitMeta: ["totalCount", "totalPages"], omitUsage: true });
    const { data, meta, usage } = await get(sandbox(), `/v1/accounts?ids=${account.id}`);
    expect(one(many(data)[0]).id).toBe(String(account.id));
    expect([meta?.totalCount, usage]).toEqual([undefined, undefined]);
    sandbox().setQuirks({ omitFields: ["companyId"], extraFields: { brandNew: { since: 2026 } } });
    const changed = one((await get(sandbox(), `/v1/accounts/${account.id}`)).data);
    const { companyId: _, ...rest } = account;
    expect(changed).toEqual({ ...rest, brandNew: { since: 2026 } });
  });

  test("an altered record keeps ids beyond 2^53 and digits inside texts", async () => {
    const plain = (await send(big(), "/v1/accounts?sortBy=id")).text;
    big().setQuirks({ extraFields: { brandNew: true } });
    const altered = (await send(big(), "/v1/accounts?sortBy=id")).text;
    const records = (text: string) => text.slice(0, text.indexOf(',"meta"'));
    expect(records(altered).replaceAll(',"brandNew":true', "")).toBe(records(plain));
    expect(altered).toContain('"brandNew":true');
  });

  test("unknown parameters are ignored unless the service is strict", async () => {
    sandbox().setQuirks({});
    await get(sandbox(), "/v1/accounts?surprise=1");
    sandbox().setQuirks({ strictQuery: true });
    await get(sandbox(), "/v1/accounts?surprise=1", 400);
  });

  test.each(["html", "empty"] as const)("errors can come as %s", async (errorBody) => {
    sandbox().setQuirks({ errorBody });
    const reply = await send(sandbox(), "/v1/accounts/1");
    expect(reply.status).toBe(404);
    expect(reply.text.startsWith(errorBody === "html" ? "<!doctype html>" : "")).toBe(true);
    expect(reply.text.includes("{")).toBe(false);
  });
});

describe("intercept", () => {
  test("a function can answer itself, alter the request, or alter the answer; only a 200 is charged", async () => {
    sandbox().setQuirks({});
    const used = () => sandbox().stats().credits.used;
    const before = used();
    sandbox().intercept(async () => ({ status: 503, headers: { "retry-after": "7" }, body: "" }));
    const unavailable = await send(sandbox(), "/v1/accounts");
    expect([unavailable.status, unavailable.headers.get("retry-after")]).toEqual([503, "7"]);
    sandbox().intercept(async (_request, next) => ({ ...(await next()), status: 500 }));
    expect((await send(sandbox(), "/v1/accounts")).status).toBe(500);
    expect(used()).toBe(before);
    sandbox().intercept((request, next) => next({ ...request, query: { ...request.query, perPage: "2" } }));
    expect(many((await get(sandbox(), "/v1/accounts")).data)).toHaveLength(2);
    sandbox().intercept(async () => ({ status: 200, headers: {}, body: '{"data":[]}' }));
    expect((await send(sandbox(), "/v1/accounts")).text).toBe('{"data":[]}');
    expect(used()).toBe(before + 2);
    sandbox().intercept(undefined);
    await get(sandbox(), "/v1/accounts");
  });

  test.each(["silent", "midway"] as const)(
    "a connection can break off (%s) although the credit is gone",
    async (drop) => {
      const before = sandbox().stats().credits.used;
      sandbox().intercept(async (_request, next) => ({ ...(await next()), drop }));
      await expect(send(sandbox(), "/v1/signals?perPage=100")).rejects.toThrow();
      sandbox().intercept(undefined);
      expect(sandbox().stats().credits.used).toBe(before + 1);
    },
  );
});
