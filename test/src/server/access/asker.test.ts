// Whose statements a request runs: the server runs a few of each asker at once, so that one cannot keep the others waiting.
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { addKey, keysPath } from "../../../../src/server/access/key-store.ts";
import { createServer } from "../../../../src/server/app.ts";
import { asking } from "../../../../src/server/snapshot.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const aServer = async (keyFile: string) => {
  const server = await createServer(
    {
      profiles: [{ name: "default", snapshot: "/nowhere", ratePerMinute: null }],
      key: null,
      keyFile,
      listenHost: "127.0.0.1",
      clock: systemClock,
      version: "0.0.0",
      onFault: () => undefined,
    },
    (app) => {
      app.get("/api/asker", () => Promise.resolve({ asker: asking.getStore() }));
    },
  );
  onTestFinished(() => server.close());
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
  const ask = await aServer(file);
  for (const from of ["127.0.0.1", "192.0.2.7"]) {
    expect(await Promise.all(keys.map((key) => ask({ authorization: `Bearer ${key}` }, from)))).toEqual([
      "key ada",
      "key bob",
    ]);
  }
});

test("without keys each network is one", async () => {
  const ask = await aServer(keysPath(tempDir()));
  expect(await ask({})).toBe("from 127.0.0.1");
  expect(await ask({}, "2001:db8:1:2::5")).toBe(await ask({}, "2001:db8:1:2::6"));
});
