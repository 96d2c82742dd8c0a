// What a request to the replica asks for: its route, parameters, fields, order and page.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENDPOINTS } from "../../../../src/catalog/endpoints.ts";
import { signal } from "../../../../src/catalog/resources.ts";
import { hasNumberKey } from "../../../../src/replica/cache/list-cache.ts";
import { nearRows } from "../../../../src/replica/query/list-query.ts";
import { chooseFields, defaultFields, Params } from "../../../../src/replica/query/params.ts";
import { matchRoute } from "../../../../src/replica/query/route-match.ts";
import { Refusal } from "../../../../src/replica/refusal.ts";
import { get, many, sharedSandbox, walk } from "../../sandbox/sandbox-client.ts";

describe("routes", () => {
  test.each([
    ["/v1/signals/counts", "getSignalCounts", {}],
    ["/v1/signals/12", "getSignal", { signalId: "12" }],
    ["/v1/companies/by-input", "getCompany", { companyId: "by-input" }],
    ["/v1/companies/by-input/acme.com", "resolveCompany", { companyInputId: "acme.com" }],
    ["/v1/companies/by-input/https%3A%2F%2Facme.com%2Fa", "resolveCompany", { companyInputId: "https://acme.com/a" }],
    ["/v1/companies/by-input/https://acme.com/a", "resolveCompany", { companyInputId: "https://acme.com/a" }],
    ["/v1/companies/a%2Fb/filings", "listFilings", { companyId: "a/b" }],
    ["/v1/contacts/%E5%B1%B1", "getContact", { contactId: "山" }],
  ])("%s is %s", (path, name, params) => {
    const match = matchRoute("GET", path);
    expect([match.route.name, match.path]).toEqual([name, params]);
  });

  test.each(["/", "/v1", "/v1/accounts/", "/v1/accounts/1/2", "/v1/companies/1/unknown"])("%s is no route", (path) => {
    expect(() => matchRoute("GET", path)).toThrow(expect.objectContaining({ status: 404 }));
  });

  test("another method is 405, broken encoding 400", () => {
    expect(() => matchRoute("DELETE", "/v1/accounts")).toThrow(expect.objectContaining({ status: 405 }));
    expect(() => matchRoute("GET", "/v1/contacts/%E0%A4%A")).toThrow(expect.objectContaining({ status: 400 }));
  });

  test("every route is matched by its own path", () => {
    for (const route of Object.values(ENDPOINTS)) {
      expect(matchRoute(route.method, route.path.replace(/\{\w+\}/g, "7")).route.name).toBe(route.name);
    }
  });
});

// Which fields of a record a response has.

const chosen = (query: Record<string, string>, detail = false) => {
  const { fields, named } = chooseFields("signals", Params.parse(ENDPOINTS.listSignals, {}, query), detail);
  return { names: fields.map(({ name }) => name), named };
};

test("a list leaves out what only the detail route has, and both leave out what must be asked for", () => {
  const names = (detail: boolean) => defaultFields("signals", detail).map(({ name }) => name);
  expect(names(true)).toContain("sources");
  expect(names(false)).not.toContain("sources");
  expect(defaultFields("news_articles", true).some(({ optIn }) => optIn)).toBe(false);
  expect(defaultFields("news_articles", true).length).toBeGreaterThan(0);
});

test("fields that are named come in the catalog's order, and no others", () => {
  expect(chosen({ onlyWithFields: "headline,id" })).toEqual({ names: ["id", "headline"], named: true });
  expect(chosen({})).toMatchObject({ named: false, names: expect.arrayContaining(["id", "headline", "type"]) });
});

test("a name that the resource does not have is refused and repeated", () => {
  expect(() => chosen({ onlyWithFields: "id,headlines" })).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringContaining('"headlines"') }),
  );
});

describe("parameters", () => {
  test("whatever a client sends is either read or refused with 400", () => {
    const anyQuery = fc.dictionary(
      fc.constantFrom(...new Set(Object.values(ENDPOINTS).flatMap(({ query }) => query.map(({ name }) => name)))),
      fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("2026-02-29", "2024-02-29", "1,2", "default", "asc")),
    );
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(ENDPOINTS)), anyQuery, (route, query) => {
        try {
          Params.parse(route, {}, query);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
        }
      }),
    );
  });

  test.each([
    ["2026-05-01", true],
    ["2024-02-29", true],
    ["2026-02-29", false],
    ["2026-13-01", false],
    ["2026-05-01T10:00:00Z", true],
    ["2026-05-01T10:00:00.123456+02:00", true],
    ["2026-05-01 10:00", true],
    ["2026-05-01T25:00:00Z", false],
    ["1746057600", false],
    ["May 2026", false],
  ])("the date %s is accepted: %s", (value, accepted) => {
    const parse = () => Params.parse(ENDPOINTS.listSignals, {}, { afterDate: value });
    if (accepted) expect(parse().text("afterDate")).toBe(value);
    else expect(parse).toThrow(Refusal);
  });

  test("64-bit ids are taken exactly, larger ones refused", () => {
    const ids = (value: string) => Params.parse(ENDPOINTS.listAccounts, {}, { ids: value }).ids("ids");
    expect(ids("9223372036854775807, 1")).toEqual(["9223372036854775807", "1"]);
    expect(() => ids("9223372036854775808")).toThrow(Refusal);
  });
});

test("a key counts as a number when it is one BIGINT column", () => {
  expect([hasNumberKey("signals"), hasNumberKey("companies"), hasNumberKey("filings")]).toEqual([true, false, false]);
});

// The rows of a page that are read together, and those that are read one by one.

/** Keys of rows in these places: `k` and the place. */
const keysOf = (places: readonly number[]) => places.map((place) => `k${place}`);
const from = (start: number, count: number, step = 1) => Array.from({ length: count }, (_, n) => start + n * step);

test("rows that lie together are read together, in whatever order the page has them", () => {
  const places = [...from(5000, 30), ...from(4000, 30)];
  const { near, others } = nearRows(keysOf(places), places);
  expect(near).toMatchObject({ from: 4000, to: 5029 });
  expect(near?.keys).toHaveLength(60);
  expect(others).toEqual([]);
});

test("rows that lie elsewhere are read one by one", () => {
  const places = [7, ...from(50_000, 30), 900_000];
  const { near, others } = nearRows(keysOf(places), places);
  expect(near).toMatchObject({ from: 50_000, to: 50_029 });
  expect(others).toEqual(["k7", "k900000"]);
});

test("rows that are scattered, or few, are all read one by one", () => {
  const scattered = from(0, 100, 1000);
  expect(nearRows(keysOf(scattered), scattered)).toEqual({ near: null, others: keysOf(scattered) });
  const few = from(0, 19);
  expect(nearRows(keysOf(few), few)).toEqual({ near: null, others: keysOf(few) });
  expect(nearRows([], [])).toEqual({ near: null, others: [] });
});

test("for any places, every key is in one part, and the near part passes over at most twenty rows for each key", () => {
  const places = fc.uniqueArray(fc.oneof(fc.nat({ max: 3000 }), fc.nat({ max: 4_000_000_000 })), { maxLength: 200 });
  fc.assert(
    fc.property(places, (all) => {
      const { near, others } = nearRows(keysOf(all), all);
      expect([...(near?.keys ?? []), ...others].sort()).toEqual(keysOf(all).sort());
      if (near === null) return;
      expect(near.to - near.from).toBeLessThan(all.length * 20);
      const inside = all.filter((place) => place >= near.from && place <= near.to);
      expect([...near.keys].sort()).toEqual(keysOf(inside).sort());
    }),
  );
});

const sandbox = sharedSandbox();

test.each([1, 7, 100])("pages of %i rows, put together, are the whole list once", async (perPage) => {
  const whole = await walk(sandbox(), "/v1/contacts?sortBy=type");
  const ids: unknown[] = [];
  const pages = Math.ceil(whole.length / perPage);
  for (let page = 1; page <= Math.min(pages, 20); page++) {
    const { data, meta } = await get(sandbox(), `/v1/contacts?sortBy=type&perPage=${perPage}&page=${page}`);
    expect(meta).toMatchObject({ page, perPage, totalCount: whole.length, totalPages: pages });
    ids.push(...many(data).map(({ id }) => id));
  }
  expect(ids).toEqual(whole.map(({ id }) => id).slice(0, ids.length));
});

test("a page behind the last one is empty and still says how many there are", async () => {
  const { data, meta } = await get(sandbox(), "/v1/accounts?page=99");
  expect(data).toEqual([]);
  expect(meta).toMatchObject({ page: 99, totalCount: 12 });
  const far = await get(sandbox(), "/v1/accounts?page=9007199254740993&perPage=100");
  expect(far.data).toEqual([]);
});

test.each(signal.map(({ name }) => name))("signals can be sorted by %s, missing values last", async (name) => {
  const fields = `&onlyWithFields=id,${name}`;
  for (const order of ["asc", "desc"]) {
    const { data } = await get(sandbox(), `/v1/signals?sortBy=${name}&sortOrder=${order}&perPage=100${fields}`);
    const rows = many(data);
    const missing = rows.map((row) => row[name] === undefined);
    expect(missing).toEqual([...missing].sort((left, right) => Number(left) - Number(right)));
    const numbers = rows.flatMap((row) => (typeof row[name] === "number" ? [row[name]] : []));
    expect(numbers).toEqual([...numbers].sort((left, right) => (order === "asc" ? left - right : right - left)));
  }
});

test("newer signals have larger ids", async () => {
  const rows = await walk(sandbox(), "/v1/signals?sortBy=id&sortOrder=asc");
  const created = rows.map(({ createdAt }) => String(createdAt));
  expect(created).toEqual([...created].sort());
});

test("only the named fields come, in any combination", async () => {
  const { data } = await get(sandbox(), "/v1/accounts?onlyWithFields=id,name&perPage=100");
  expect(many(data).every((row) => Object.keys(row).every((name) => ["id", "name"].includes(name)))).toBe(true);
});
