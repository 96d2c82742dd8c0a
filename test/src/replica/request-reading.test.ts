// What a request means: route, parameters, domains. Pure, so tested without a server.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bareAddress, domainCandidates } from "../../../src/core/text/domain-names.ts";
import { Params } from "../../../src/replica/query/params.ts";
import { matchRoute } from "../../../src/replica/query/route-match.ts";
import { Refusal } from "../../../src/replica/refusal.ts";
import { ROUTES, routeSpec } from "../../../src/replica/routes.ts";

describe("routes", () => {
  test.each([
    ["/v1/signals/counts", "signalCounts", {}],
    ["/v1/signals/12", "signal", { signalId: "12" }],
    ["/v1/companies/by-input", "company", { companyId: "by-input" }],
    ["/v1/companies/by-input/acme.com", "companyByInput", { companyInputId: "acme.com" }],
    ["/v1/companies/by-input/https%3A%2F%2Facme.com%2Fa", "companyByInput", { companyInputId: "https://acme.com/a" }],
    ["/v1/companies/by-input/https://acme.com/a", "companyByInput", { companyInputId: "https://acme.com/a" }],
    ["/v1/companies/a%2Fb/filings", "filings", { companyId: "a/b" }],
    ["/v1/contacts/%E5%B1%B1", "contact", { contactId: "山" }],
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
    for (const route of ROUTES) {
      expect(matchRoute(route.method, route.path.replace(/\{\w+\}/g, "7")).route.name).toBe(route.name);
    }
    expect(ROUTES).toHaveLength(18);
  });
});

describe("parameters", () => {
  test("whatever a client sends is either read or refused with 400", () => {
    const anyQuery = fc.dictionary(
      fc.constantFrom(...new Set(ROUTES.flatMap(({ query }) => query.map(({ name }) => name)))),
      fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("2026-02-29", "2024-02-29", "1,2", "default", "asc")),
    );
    fc.assert(
      fc.property(fc.constantFrom(...ROUTES), anyQuery, (route, query) => {
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
    const parse = () => Params.parse(routeSpec("signals"), {}, { afterDate: value });
    if (accepted) expect(parse().text("afterDate")).toBe(value);
    else expect(parse).toThrow(Refusal);
  });

  test("64-bit ids are taken exactly, larger ones refused", () => {
    const ids = (value: string) => Params.parse(routeSpec("accounts"), {}, { ids: value }).ids("ids");
    expect(ids("9223372036854775807, 1")).toEqual(["9223372036854775807", "1"]);
    expect(() => ids("9223372036854775808")).toThrow(Refusal);
  });
});

describe("domains", () => {
  test.each([
    ["ACME.com", ["acme.com"]],
    ["https://www.shop.acme.co.uk:8443/x?y#z", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
    ["user@acme.com", ["acme.com"]],
    ["acme.com.", ["acme.com"]],
    ["Acme Corp.", []],
    ["acme", []],
    ["", []],
  ])("%s may mean %j", (input, expected) => {
    expect(domainCandidates(input)).toEqual(expected);
  });

  test("addresses of one page are equal however they are spelled", () => {
    const spelled = ["https://www.Network.example/company/acme/", "network.example/company/acme?ref=1#top"];
    expect(new Set(spelled.map(bareAddress))).toEqual(new Set(["network.example/company/acme"]));
  });
});
