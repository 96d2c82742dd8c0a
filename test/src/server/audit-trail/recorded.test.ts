// Which requests get a line of their own in the audit trail, which are only counted, and what a line says of their address.
import { expect, test } from "vitest";
import { actionOf, BEGUN, createLineCounts, placeOf } from "../../../../src/server/audit-trail/hooks.ts";

test.each([
  ["POST", "/api/query", "query"],
  ["POST", "/api/download", "query"],
  ["DELETE", "/api/syncs/:id", "cancel"],
  ["POST", "/login", "login"],
  ["POST", "/logout", null],
  ["GET", "/v1/*", "read"],
  ["GET", "/profiles/:profile/v1/*", "read"],
  ["GET", "/api/changes", "read"],
  ["GET", "/api/status", null],
  ["GET", "/metrics", null],
  ["GET", "/healthz", null],
  ["GET", "/openapi.json", null],
  ["GET", "/", null],
  ["GET", null, null],
  ["POST", null, "request"],
  ["PUT", "/api/status", "request"],
] as const)("%s %s: %s", (method, template, action) => {
  expect(actionOf(method, template)).toBe(action);
});

test("what changes or starts something has a line when it begins; a read and a login have none", () => {
  expect(["query", "sync", "unfollow"].every((action) => BEGUN.some((begun) => begun === action))).toBe(true);
  expect(BEGUN.some((begun) => begun === "read" || begun === "login")).toBe(false);
});

const V1 = "/v1/*";
test("a record's id and a parameter's value are not in the line, nor is a name that the route does not know", () => {
  const place = placeOf("GET", "/v1/contacts/7?include=account&secret=x&secret=y&perPage=3", V1);
  expect(place).toEqual({ route: "/v1/contacts/{contactId}", parameters: ["include", "?"] });
});

test("an address of the API that is none is not repeated", () => {
  expect(placeOf("GET", "/v1/people/ann", V1)).toEqual({ route: "/v1/?", parameters: [] });
  expect(placeOf("GET", "/v1/contacts/%E0%A4%A", V1).route).toBe("/v1/?");
});

test("a profile is a part of the template, not of the address", () => {
  const place = placeOf("HEAD", "/profiles/emea/v1/accounts?page=2", "/profiles/:profile/v1/*");
  expect(place).toEqual({ route: "/profiles/{profile}/v1/accounts", parameters: ["page"] });
});

test("a route of the server is its template, with the parameters that the server knows", () => {
  expect(placeOf("GET", "/api/runs/7/requests?offset=1&who=ann", "/api/runs/:id/requests")).toEqual({
    route: "/api/runs/{id}/requests",
    parameters: ["offset", "?"],
  });
  expect(placeOf("POST", "/x/ann?limit=1", null)).toEqual({ route: null, parameters: ["limit"] });
});

const KIND = { name: "refused", most: 60 };

test("the next minute begins with the number of those without a line", () => {
  const { next, left } = createLineCounts<string>();
  const written = Array.from({ length: 65 }, (_, nth) => next(KIND, 100_000, `request ${nth}`));
  expect(written.filter((unwritten) => unwritten === 0)).toHaveLength(60);
  expect(written.slice(60)).toEqual(Array(5).fill(null));
  expect(left()).toEqual([{ last: "request 64", unwritten: 5 }]);
  expect(next(KIND, 160_000, "later")).toBe(5);
  expect(left()).toEqual([]);
});

test("many kinds do not fill the memory", () => {
  const { next, left } = createLineCounts<null>();
  for (let nth = 0; nth < 5_000; nth++) next({ name: String(nth), most: 1 }, 0, null);
  next({ name: "4999", most: 1 }, 0, null);
  expect(left()).toHaveLength(1);
});
