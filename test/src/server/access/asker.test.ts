// Whose statements a request runs: the server runs a few of each asker at once, so that one cannot keep the others waiting.
import { expect, test } from "vitest";
import { snapshotPath } from "../../../../src/core/data-dir.ts";
import { addKey, keysPath } from "../../../../src/server/access/key-store.ts";
import { asking } from "../../../../src/server/snapshots/snapshot.ts";
import { change } from "../../../support/change-mirror.ts";
import { aServer, serving } from "../../../support/served.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const serverFor = (keyFile: string, snapshot?: string) =>
  aServer({ ...serving(snapshot), keyFile, onFault: () => undefined }, (app) => {
    app.get("/api/asker", () => Promise.resolve({ asker: asking.getStore() }));
  });

const asker = async (keyFile: string) => {
  const server = await serverFor(keyFile);
  return (headers: Record<string, string>, remoteAddress = "127.0.0.1") =>
    server.app
      .inject({ url: "/api/asker", headers: { host: "127.0.0.1", ...headers }, remoteAddress })
      .then((answer) => answer.json().asker);
};

test("with keys each key is an asker, wherever its requests come from", async () => {
  const file = keysPath(tempDir());
  const keys = await Promise.all(
    ["ada", "bob"].map(async (name) => (await addKey(file, { name, role: "read", expiresAt: null }, 0)).reveal()),
  );
  const ask = await asker(file);
  for (const from of ["127.0.0.1", "192.0.2.7"]) {
    expect(await Promise.all(keys.map((key) => ask({ authorization: `Bearer ${key}` }, from)))).toEqual([
      "key ada",
      "key bob",
    ]);
  }
});

test("without keys each network is one", async () => {
  const ask = await asker(keysPath(tempDir()));
  expect(await ask({})).toBe("from 127.0.0.1");
  expect(await ask({}, "2001:db8:1:2::5")).toBe(await ask({}, "2001:db8:1:2::6"));
});

test("long SQL of one key leaves a place for another, which has one", async () => {
  const dataDir = tempDir();
  await change(dataDir, async () => undefined);
  const file = keysPath(dataDir);
  const key = async (name: string) => (await addKey(file, { name, role: "read", expiresAt: null }, 0)).reveal();
  const [ada, bob] = [await key("ada"), await key("bob")];
  const server = await serverFor(file, snapshotPath(dataDir));
  // Waited for below, and begun here.
  const query = async (by: string, sql: string) =>
    await server.app.inject({
      method: "POST",
      url: "/api/query",
      headers: { host: "127.0.0.1", authorization: `Bearer ${by}` },
      payload: { sql },
    });
  const endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t";
  const long = [query(ada, endless), query(ada, endless)];
  expect((await query(ada, "SELECT 1 AS one")).json().error.code).toBe("BUSY");
  expect((await query(bob, "SELECT 1 AS one")).statusCode).toBe(200);
  await server.close();
  expect((await Promise.all(long)).map(({ statusCode }) => statusCode)).not.toContain(200);
});
