// Named keys: kept as hashes, with a role and an end; what is added or revoked counts without a restart.
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { addKey, hashOfKey, keysPath, readKeys, revokeKey } from "../../../../src/server/access/key-store.ts";
import type { Server } from "../../../../src/server/app.ts";
import { aFolder } from "../../../support/cli.ts";
import { aServer, serving } from "../../../support/served.ts";

let dataDir: string;
let path: string;
let server: Server;
let now: number;
const faults: unknown[] = [];

const options = () => ({
  ...serving(join(dataDir, "warehouse.duckdb")),
  keyFile: path,
  clock: { now: () => now, sleep: systemClock.sleep },
  onFault: (error: unknown) => void faults.push(error),
});
beforeEach(async () => {
  dataDir = aFolder();
  path = keysPath(dataDir);
  now = Date.now();
  faults.length = 0;
  server = await aServer(options());
});

const asked = async (key: string | null, url = "/api/profiles", method: "GET" | "POST" = "GET") => {
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  const answer = await server.app.inject({ method, url, headers: { host: "127.0.0.1:1", ...authorization } });
  return answer.statusCode;
};
const made = async (name: string, role: "read" | "operate" | "metrics", expiresAt: number | null = null) =>
  (await addKey(path, { name, role, expiresAt }, now)).reveal();

test("a key does what its role allows and no more", async () => {
  const [metrics, read, operate] = [await made("m", "metrics"), await made("r", "read"), await made("o", "operate")];
  const statuses = async (key: string) => [
    await asked(key, "/metrics"),
    await asked(key, "/api/profiles"),
    await asked(key, "/api/syncs", "POST"),
  ];
  // This server starts no syncs: 409 says that the key was accepted.
  expect(await statuses(metrics)).toEqual([200, 403, 403]);
  expect(await statuses(read)).toEqual([200, 200, 403]);
  expect(await statuses(operate)).toEqual([200, 200, 409]);
  // Whoever reads the file has no key.
  expect(await asked(hashOfKey(read))).toBe(401);
});

test("from the first key on, a request needs one; revoked and ended keys are refused, without a restart", async () => {
  expect(await asked(null)).toBe(200);
  const key = await made("ann", "read");
  const passing = await made("guest", "read", now + 1000);
  expect([await asked(null), await asked(key), await asked(passing)]).toEqual([401, 200, 200]);
  now += 1000;
  expect(await asked(passing)).toBe(401);
  await revokeKey(path, "ann", now);
  expect([await asked(key), await asked(null)]).toEqual([401, 401]);
});

test.each(["metrics", "read", "operate"] as const)("whoever logs in with a %s key can log out", async (role) => {
  const payload = `key=${await made("ann", role)}`;
  const type = "application/x-www-form-urlencoded";
  const headers = { host: "127.0.0.1:1", "content-type": type };
  const login = await server.app.inject({ method: "POST", url: "/login", headers, payload });
  const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
  const withCookie = { host: "127.0.0.1:1", cookie };
  const figures = () => server.app.inject({ url: "/metrics", headers: withCookie });
  expect((await figures()).statusCode).toBe(200);
  const other = `key=${await made("bea", role)}`;
  const session = await server.app.inject({ method: "POST", url: "/login", headers, payload: other });
  await revokeKey(path, "bea", now);
  const revoked = { host: "127.0.0.1:1", cookie: String(session.headers["set-cookie"]).split(";")[0] ?? "" };
  expect((await server.app.inject({ url: "/metrics", headers: revoked })).statusCode).toBe(401);
  const logout = await server.app.inject({ method: "POST", url: "/logout", headers: withCookie });
  expect([logout.statusCode, (await figures()).statusCode]).toEqual([303, 401]);
});

test("a link in the place of the key file is not followed", async () => {
  const others = keysPath(join(dataDir, "others"));
  const theirs = (await addKey(others, { name: "eve", role: "read", expiresAt: null }, now)).reveal();
  await made("ann", "read");
  rmSync(path);
  symlinkSync(others, path);
  expect([await asked(theirs), faults.length]).toEqual([401, 1]);
});

test("the configured key may do everything, whatever the file holds, and nothing but its whole text is that key", async () => {
  const configured = "Zm9vYmFyYmF6cXV4MDEyMzQ1";
  server = await aServer({ ...options(), key: new Secret(configured) });
  const key = await made("ann", "read");
  expect([await asked(key), await asked(configured, "/api/syncs", "POST")]).toEqual([200, 409]);
  for (const text of ["x", configured.slice(1), `${configured}x`, configured.toLowerCase()])
    expect(await asked(text)).toBe(401);
  writeFileSync(path, '{"v":1,"keys":[');
  expect([await asked(key), await asked(key), await asked(configured), faults.length]).toEqual([401, 401, 200, 1]);
  rmSync(path);
  expect(await asked(await made("ann", "read"))).toBe(200);
});

test("two keys that are made at once are both kept; a name is used once", async () => {
  await Promise.all(Array.from({ length: 8 }, (_, nth) => made(`key-${nth}`, "read")));
  expect(await readKeys(path)).toHaveLength(8);
  await expect(made("key-3", "read")).rejects.toMatchObject({ code: "USAGE" });
  // In the audit trail, these are others.
  for (const name of ["server_key", "local"]) await expect(made(name, "read")).rejects.toMatchObject({ code: "USAGE" });
  await expect(revokeKey(path, "nobody", now)).rejects.toMatchObject({ code: "USAGE" });
});

test("a key file that cannot be read, or is gone, lets nobody in", async () => {
  const key = await made("ann", "read");
  expect(await asked(key)).toBe(200);
  writeFileSync(path, "no keys");
  expect([await asked(key), await asked(null)]).toEqual([401, 401]);
  expect(faults).toHaveLength(1);
  rmSync(path);
  expect([await asked(key), await asked(null)]).toEqual([401, 401]);
});
