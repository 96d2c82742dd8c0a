// docs/PARAMETERS.md against the table of routes; its routes are those of the API document.
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ENDPOINTS, leadsTo, pathOf, type RouteSpec } from "../../../src/catalog/endpoints.ts";

const ROUTES = Object.values(ENDPOINTS);
const document = readFileSync(new URL("../../../docs/PARAMETERS.md", import.meta.url), "utf8");

interface Line {
  readonly parameter: string;
  readonly used: string;
  readonly test: string;
}

/** Lines of the document by route: a section may be about several routes. */
const sections = new Map(
  document
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [title = "", ...rest] = section.split("\n");
      const lines = rest.flatMap((text): readonly Line[] => {
        const [, parameter, used = "", file] = /^\| `([^`]+)` \| (.+) \| `([^`]+)` \|$/.exec(text) ?? [];
        return parameter === undefined || file === undefined ? [] : [{ parameter, used, test: file }];
      });
      return title.split(", ").map((route) => [route, lines] as const);
    }),
);

/** Members of the feedback request: POST /v1/feedback has a body instead of parameters. */
const FEEDBACK = ["message", "rating", "category", "context"];

const documentedOf = ({ method, pathParams, query }: RouteSpec): readonly string[] => [
  ...pathParams.map(({ name }) => name),
  ...query.flatMap(({ name, allowed = [] }) =>
    name === "include" ? allowed.map((value) => `include=${value}`) : name,
  ),
  ...(method === "POST" ? FEEDBACK : []),
];

test("every route has its section, and no other has one", () => {
  expect([...sections.keys()].sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
});

test("these are the routes of the API document, where that is at hand", () => {
  const file = new URL("../../../../shared/API.md", import.meta.url);
  const text = existsSync(file) ? readFileSync(file, "utf8") : [...sections.keys()].join("\n");
  const named = [...text.matchAll(/(?:### |^\| |^)((?:GET |POST )?\/v1\/[^\s|`]+)/gm)].map(([, path = ""]) => path);
  const routes = named.map((path) => (/^(GET|POST) /.test(path) ? path : `GET ${path}`));
  expect([...new Set(routes)].sort()).toEqual([...sections.keys()].sort());
});

test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "%s: every parameter and include has its line, and no other has one",
  (title, route) => {
    const lines = sections.get(title) ?? [];
    expect(lines.map(({ parameter }) => parameter).sort()).toEqual([...documentedOf(route)].sort());
    for (const { used, test: file } of lines) {
      expect(used.length).toBeGreaterThan(3);
      expect(existsSync(new URL(`../../../${file}`, import.meta.url)), file).toBe(true);
    }
  },
);

test("a path leads to its endpoint unless no path segment can carry its parameter", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (id) => {
      const carried = id !== "" && id !== "." && id !== "..";
      expect(leadsTo("getContact", pathOf("getContact", id))).toBe(carried);
    }),
  );
});
