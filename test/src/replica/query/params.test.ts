// Parameters of a request: read, or refused. Pure, so tested without a server.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENDPOINTS } from "../../../../src/catalog/endpoints.ts";
import { chooseFields, defaultFields, Params } from "../../../../src/replica/query/params.ts";
import { Refusal } from "../../../../src/replica/refusal.ts";

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
