// Which fields of a record a response has.
import { expect, test } from "vitest";
import { chooseFields, defaultFields } from "../../../../src/replica/query/field-choice.ts";
import { Params } from "../../../../src/replica/query/params.ts";
import { routeSpec } from "../../../../src/replica/routes.ts";

const chosen = (query: Record<string, string>, detail = false) => {
  const { fields, named } = chooseFields("signals", Params.parse(routeSpec("signals"), {}, query), detail);
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
