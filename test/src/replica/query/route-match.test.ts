// What route a request means. Pure, so tested without a server.
import { describe, expect, test } from "vitest";
import { ENDPOINTS } from "../../../../src/catalog/endpoints.ts";
import { matchRoute } from "../../../../src/replica/query/route-match.ts";

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
