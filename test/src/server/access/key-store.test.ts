// Named keys: kept as hashes, with a role and an end; what is added or revoked counts without a restart.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { addKey, keysPath, readKeys, revokeKey } from "../../../../src/server/access/key-store.ts";
import type { Server } from "../../../../src/server/app.ts";
import { aServer, serving } from "../../../support/served.ts";

let dataDir: string;
let path: string;
let server: Server;
let now: number;
const faults: unknown[] = [];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "duckmirror-keys-"));
  path = keysPath(dataDir);
  now = Date.now();
  faults.length = 0;
  server = await aServer({
    ...serving(join(dataDir, "warehouse.duckdb")),
    keyFile: path,
    clock: { now: () => now, sleep: systemClock.sleep },
    onFault: (error) => void faults.push(error),
  });
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

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
  const logout = await server.app.inject({ method: "POST", url: "/logout", headers: withCookie });
  expect([logout.statusCode, (await figures()).statusCode]).toEqual([303, 401]);
});

test("the file is its owner's and holds no key", async () => {
  const key = await made("ann", "read");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).not.toContain(key.slice(3));
  expect(await readKeys(path)).toMatchObject([{ name: "ann", role: "read", revoked_at: null }]);
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
