// Who may ask: pure decisions, then requests to a real server.
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import type { Fleet } from "../../../../src/core/report/fleet.ts";
import { Secret } from "../../../../src/core/secret.ts";
import {
  admission,
  COOKIE,
  cookieHeader,
  HOST_COOKIE,
  isOwnHost,
  isSameOrigin,
  roleFor,
} from "../../../../src/server/access/access-checks.ts";
import { emptyMirrorForFile, HERE } from "../served-mirror.ts";
import { checksOf, sessionOf } from "./open-session.ts";

const key = new Secret("0123456789abcdef0123456789abcdef");
const served = await emptyMirrorForFile();
const bearer = { authorization: `Bearer ${key.reveal()}` };

test("a wrong bearer key is refused even beside a good session", () => {
  const cookie = `a=b; ${COOKIE}=${sessionOf(key, 0)}`;
  const by = (asker: Parameters<typeof admission>[0], secret: Secret | null = key) => {
    const { keyring, sessions } = checksOf(secret);
    return admission(asker, keyring, sessions, 1);
  };
  expect(by({ cookie })).toMatchObject({ by: "session" });
  expect(by({ cookie, authorization: "Bearer nothing" })).toEqual({ by: "nothing", guessed: true });
  expect(by(bearer)).toMatchObject({ by: "bearer" });
  expect(by({})).toEqual({ by: "nothing", guessed: false });
  expect(by({}, null)).toEqual({ by: "open" });
});

test("a second cookie of the name does not log people out; over https only a cookie of this host counts", () => {
  const { keyring, sessions } = checksOf(key);
  const good = sessionOf(key, 0);
  const by = (cookie: string, secure = false) => admission({ cookie, secure }, keyring, sessions, 1).by;
  expect(by(`${COOKIE}=planted; ${COOKIE}=${good}`)).toBe("session");
  expect(by(`${HOST_COOKIE}=planted; ${HOST_COOKIE}=${good}`, true)).toBe("session");
  expect(by(`${COOKIE}=${good}`, true)).toBe("nothing");
  expect(by(`${HOST_COOKIE}=${good}`)).toBe("nothing");
  expect(cookieHeader("x", true)).toMatch(/^__Host-duckmirror_session=x; Path=\/;.*; Secure$/);
  expect(cookieHeader("x", false)).toMatch(/^duckmirror_session=x; /);
});

test.each([
  ["GET", "/metrics", "metrics"],
  ["GET", "/v1/accounts", "read"],
  ["POST", "/api/query", "read"],
  ["POST", "/api/download", "read"],
  ["POST", "/api/syncs", "operate"],
  ["DELETE", "/api/syncs/x", "operate"],
  ["POST", "/api/feedback", "operate"],
  ["PUT", "/metrics", "operate"],
])("%s %s needs the role %s", (method, path, role) => {
  expect(roleFor(method, path)).toBe(role);
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

describe("a real server", () => {
  test("answers on this machine without a key, with a policy that lets no script in", async () => {
    const { app } = await served();
    const answer = await app.inject({ url: "/v1/accounts", headers: HERE });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(answer.headers["content-security-policy"]).not.toContain("unsafe");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("refuses a name that was pointed here from outside, and a change that another site's page asks for", async () => {
    const { app } = await served();
    const answer = await app.inject({ url: "/v1/accounts", headers: { host: "rebound.example.com" } });
    expect(answer.statusCode).toBe(421);
    const headers = { ...HERE, origin: "http://evil.example" };
    const change = await app.inject({ method: "POST", url: "/api/syncs", headers, payload: {} });
    expect([change.statusCode, change.json().error.code]).toEqual([403, "CROSS_SITE"]);
  });

  test("two names in one request are refused, and a profile without a name is none", async () => {
    const { app } = await served();
    const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
    const statusOf = (path: string, ...hosts: readonly string[]) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request({ host: "127.0.0.1", port, path, headers: hosts.flatMap((host) => ["Host", host]) });
        asked.once("error", reject).once("response", ({ statusCode }) => resolve(statusCode));
        asked.end();
      });
    expect(await statusOf("/v1/accounts", "127.0.0.1", "evil.example")).toBe(400);
    expect(await statusOf("/profiles//v1/accounts", "127.0.0.1")).toBe(404);
    expect(await statusOf("/profiles/default/v1/accounts", "127.0.0.1")).toBe(200);
  });

  test("with a key: no data without it, all data with it, and health for everybody", async () => {
    const { app } = await served({ key });
    const closed = ["/v1/accounts", "/api/syncs/x", "/api/changes", "/api/events", "/openapi.json"];
    for (const url of [...closed, "/profiles/default/v1/accounts"]) {
      const answer = await app.inject({ url, headers: HERE });
      expect([url, answer.statusCode, answer.headers["www-authenticate"]]).toEqual([url, 401, "Bearer"]);
    }
    const known = await app.inject({ url: "/v1/accounts", headers: { ...bearer, host: "mirror.example.com" } });
    expect(known.statusCode).toBe(200);
    const wrong = { ...HERE, authorization: "Bearer dm_wrong" };
    expect((await app.inject({ url: "/healthz", headers: wrong })).statusCode).toBe(200);
    expect((await app.inject({ url: "/readyz" })).json()).toEqual({ status: "ready", mirrors: 1, missing: 0 });
  });

  test("refuses a read that another site's page asks for where it costs something, and shows its pages", async () => {
    const { app } = await served();
    const statusOf = async (url: string, site: string) =>
      (await app.inject({ url, headers: { ...HERE, "sec-fetch-site": site } })).statusCode;
    const costly = ["/api/plan", "/api/status", "/v1/accounts", "/profiles/default/v1/accounts", "/metrics"];
    for (const url of [...costly, "/warehouse.duckdb", "/snapshots"]) {
      expect([url, await statusOf(url, "cross-site")]).toEqual([url, 403]);
      const headers = { ...HERE, origin: "https://elsewhere.example" };
      expect([url, (await app.inject({ url, headers })).statusCode]).toEqual([url, 403]);
    }
    expect(await statusOf("/v1/accounts", "same-origin")).toBe(200);
    expect(await statusOf("/v1/accounts", "none")).toBe(200);
    expect(await statusOf("/login", "cross-site")).toBe(200);
  });

  test("a request that came through a proxy needs a key, also on this machine", async () => {
    const { app } = await served();
    for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "via"]) {
      const answer = await app.inject({ url: "/v1/accounts", headers: { ...HERE, [name]: "1.2.3.4" } });
      expect([name, answer.statusCode, answer.json().error.code]).toEqual([name, 401, "KEY_NEEDED"]);
    }
    const { app: keyed } = await served({ key });
    const headers = { ...HERE, ...bearer, "x-forwarded-for": "1.2.3.4" };
    expect((await keyed.inject({ url: "/v1/accounts", headers })).statusCode).toBe(200);
  });

  test("wrong keys must wait, by address; the right key is taken all the same", async () => {
    const { app } = await served({ key });
    const ask = (authorization: string, remoteAddress: string) =>
      app.inject({ url: "/v1/accounts", headers: { ...HERE, authorization }, remoteAddress });
    const statuses = [];
    for (let nth = 0; nth < 22; nth++) statuses.push((await ask("Bearer wrong", "10.0.0.1")).statusCode);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
    expect((await ask("Bearer wrong", "10.0.0.2")).statusCode).toBe(401);
    expect((await ask(bearer.authorization, "10.0.0.1")).statusCode).toBe(200);
    const login = (value: string) =>
      app.inject({
        method: "POST",
        url: "/login",
        headers: { ...HERE, "content-type": "application/x-www-form-urlencoded" },
        payload: `key=${value}`,
        remoteAddress: "10.0.0.1",
      });
    expect((await login("wrong")).statusCode).toBe(429);
    expect((await login(key.reveal())).statusCode).toBe(303);
  });

  test("no answer is kept by a cache that does not ask first", async () => {
    const { app } = await served();
    const api = ["/api/status", "/api/profiles", "/api/runs", "/api/none"];
    for (const url of [...api, "/v1/accounts", "/metrics", "/readyz"]) {
      const { headers } = await app.inject({ url, headers: HERE });
      expect([url, headers["cache-control"]]).toEqual([url, expect.stringMatching(/no-store|private, no-cache/)]);
    }
  });

  test("an encoded or doubled slash does not open what is closed", async () => {
    const { app } = await served({ key });
    const detours = ["/page/../", "/page/%2e%2e/", "//", "/healthz/../"];
    for (const url of detours.map((detour) => `${detour}v1/accounts`)) {
      const answer = await app.inject({ url, headers: HERE });
      expect([url, answer.statusCode >= 400]).toEqual([url, true]);
    }
  });

  test("is not ready where a mirror is missing, and still alive", async () => {
    const profiles = [{ name: "new", snapshot: "/nonexistent/warehouse.duckdb", ratePerMinute: null }];
    const { app } = await served({ profiles });
    expect((await app.inject({ url: "/readyz", headers: HERE })).statusCode).toBe(503);
    expect((await app.inject({ url: "/healthz", headers: HERE })).json()).toEqual({ status: "ok", version: "1.2.3" });
    const answer = await app.inject({ url: "/v1/accounts", headers: HERE });
    expect([answer.statusCode, answer.json().error.code]).toEqual([503, "SNAPSHOT_MISSING"]);
  });

  test("the fleet is shown to those with a key; a pause is a detail of readiness, without names of profiles and without a key", async () => {
    const queue = { name: "sync", waiting: 0, active: 0, delayed: 0, blocked: 0, failed: 0, paused: false };
    const paused: Fleet["paused"] = [
      { kind: "fleet", name: null, since: 0 },
      { kind: "profile", name: "north", since: null },
      { kind: "queue", name: "deliver", since: null },
    ];
    const found: Fleet = { now: 0, queues: [{ ...queue, oldest_waiting_ms: null }], members: [], paused: [] };
    const ready = async (fleet: () => Promise<Fleet>) => {
      const { app } = await served({ fleet });
      const answer = await app.inject({ url: "/readyz", headers: HERE });
      return [answer.statusCode, answer.json()];
    };
    const state = { status: "ready", mirrors: 1, missing: 0 };
    expect(await ready(async () => found)).toEqual([
      200,
      { ...state, paused: { fleet: false, profiles: 0, queues: [] } },
    ]);
    expect(await ready(async () => ({ ...found, paused }))).toEqual([
      200,
      { ...state, paused: { fleet: true, profiles: 1, queues: ["deliver"] } },
    ]);
    expect(await ready(() => Promise.reject(new Error("Redis is away")))).toEqual([200, { ...state, paused: null }]);
    const { app } = await served({ key, fleet: async () => ({ ...found, paused }) });
    expect((await app.inject({ url: "/api/fleet", headers: HERE })).statusCode).toBe(401);
    expect((await app.inject({ url: "/api/fleet", headers: { ...HERE, ...bearer } })).json()).toEqual({
      ...found,
      paused,
    });
  });
});
