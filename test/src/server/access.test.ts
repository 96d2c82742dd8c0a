// Who may ask: pure decisions, then the door of a real server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import {
  admission,
  COOKIE,
  isOwnHost,
  isSameOrigin,
  isSession,
  SESSION_MS,
  sessionValue,
} from "../../../src/server/access.ts";
import { HERE, type ServedMirror, serveMirror } from "./served-mirror.ts";

const key = new Secret("0123456789abcdef0123456789abcdef");
const other = new Secret("fedcba9876543210fedcba9876543210");
const bearer = { authorization: `Bearer ${key.reveal()}` };

describe("a session", () => {
  const value = sessionValue(key, 1000);

  test("holds for its time and not longer", () => {
    expect(isSession(key, value, 1000 + SESSION_MS - 1)).toBe(true);
    expect(isSession(key, value, 1000 + SESSION_MS)).toBe(false);
  });

  test.each([
    ["made with another key", sessionValue(other, 1000)],
    ["whose end was moved", value.replace(/^\d+/, "99999999999999")],
    ["without a seal", value.split(".")[0] ?? ""],
    ["that is empty", ""],
  ])("%s is none", (_, forged) => {
    expect(isSession(key, forged, 1000)).toBe(false);
  });
});

test("a wrong bearer key is refused even beside a good session", () => {
  const cookie = `a=b; ${COOKIE}=${sessionValue(key, 0)}`;
  expect(admission({ cookie }, key, 1)).toBe("session");
  expect(admission({ cookie, authorization: "Bearer nothing" }, key, 1)).toBeNull();
  expect(admission(bearer, key, 1)).toBe("bearer");
  expect(admission({}, key, 1)).toBeNull();
  expect(admission({}, null, 1)).toBe("open");
});

test("without a key only names of this machine are answered to", () => {
  expect(["127.0.0.1:8737", "localhost:1", "[::1]:80", "mirror.localhost"].every((host) => isOwnHost(host, "x"))).toBe(
    true,
  );
  expect(["rebound.example.com", "127.0.0.1.example.com:80", "", undefined].some((host) => isOwnHost(host, "x"))).toBe(
    false,
  );
});

test.each([
  [{ host: "127.0.0.1:8737", origin: "http://127.0.0.1:8737" }, true],
  [{ host: "127.0.0.1:8737", origin: "http://127.0.0.1:9999" }, false],
  [{ host: "127.0.0.1:8737", origin: "null" }, false],
  [{ host: "127.0.0.1:8737", origin: "http://evil.example" }, false],
  [{ host: "127.0.0.1:8737", site: "cross-site" }, false],
  [{ host: "127.0.0.1:8737", site: "same-site", origin: "http://127.0.0.1:8737" }, false],
  [{ host: "127.0.0.1:8737" }, true],
])("changes are taken from the server's own pages and from programs: %o %s", (provenance, taken) => {
  expect(isSameOrigin(provenance)).toBe(taken);
});

describe("the door", () => {
  let mirror: ServedMirror;
  beforeAll(async () => {
    mirror = await serveMirror();
  });
  afterAll(() => mirror.close());

  test("answers on this machine without a key, with a policy that lets no script in", async () => {
    const { app } = await mirror.server();
    const answer = await app.inject({ url: "/v1/accounts", headers: HERE });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(answer.headers["content-security-policy"]).not.toContain("unsafe");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("refuses a name that was pointed here from outside", async () => {
    const { app } = await mirror.server();
    const answer = await app.inject({ url: "/v1/accounts", headers: { host: "rebound.example.com" } });
    expect(answer.statusCode).toBe(421);
  });

  test("refuses a change that another site's page asks for", async () => {
    const { app } = await mirror.server();
    const headers = { ...HERE, origin: "http://evil.example" };
    const answer = await app.inject({ method: "POST", url: "/api/syncs", headers, payload: {} });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, "CROSS_SITE"]);
  });

  test("with a key: no data without it, all data with it, and health for everybody", async () => {
    const { app } = await mirror.server({ key });
    for (const url of ["/v1/accounts", "/api/syncs/x", "/openapi.json", "/profiles/default/v1/accounts"]) {
      const answer = await app.inject({ url, headers: HERE });
      expect([url, answer.statusCode, answer.headers["www-authenticate"]]).toEqual([url, 401, "Bearer"]);
    }
    const known = await app.inject({ url: "/v1/accounts", headers: { ...bearer, host: "mirror.example.com" } });
    expect(known.statusCode).toBe(200);
    expect((await app.inject({ url: "/healthz" })).statusCode).toBe(200);
    expect((await app.inject({ url: "/readyz" })).json()).toEqual({ status: "ready", mirrors: 1, missing: 0 });
  });

  test("an encoded or doubled slash does not open what is closed", async () => {
    const { app } = await mirror.server({ key });
    for (const url of [
      "/page/../v1/accounts",
      "/page/%2e%2e/v1/accounts",
      "//v1/accounts",
      "/healthz/../v1/accounts",
    ]) {
      const answer = await app.inject({ url, headers: HERE });
      expect([url, answer.statusCode >= 400]).toEqual([url, true]);
    }
  });

  test("is not ready where a mirror is missing, and still alive", async () => {
    const profiles = [{ name: "new", snapshot: "/nonexistent/warehouse.duckdb", ratePerMinute: null }];
    const { app } = await mirror.server({ profiles });
    expect((await app.inject({ url: "/readyz", headers: HERE })).statusCode).toBe(503);
    expect((await app.inject({ url: "/healthz", headers: HERE })).json()).toEqual({ status: "ok", version: "1.2.3" });
    const answer = await app.inject({ url: "/v1/accounts", headers: HERE });
    expect([answer.statusCode, answer.json().error.code]).toEqual([503, "SNAPSHOT_MISSING"]);
  });
});
