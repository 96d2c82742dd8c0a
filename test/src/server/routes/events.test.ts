// An event stream ends when its reader loses access, and when the snapshot cannot be looked at; the server goes on.
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addKey, keysPath, revokeKey } from "../../../../src/server/access/key-store.ts";
import { aRunningServer, serving } from "../../../support/served.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

/** A server without a mirror, and the address of its events. */
const listening = async () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const faults: unknown[] = [];
  const { url } = await aRunningServer({
    ...serving(snapshot),
    keyFile: keysPath(dataDir),
    onFault: (error) => faults.push(error),
  });
  return { dataDir, snapshot, faults, url: `${url}/api/events` };
};

/** Reads the stream to its end, once its first event has come; `then` is called in between. */
const readToEnd = async (url: string, headers: Readonly<Record<string, string>>, then: () => unknown) => {
  const [answer]: IncomingMessage[] = await once(get(url, { headers }), "response");
  if (answer === undefined) throw new Error("no answer");
  expect(answer.statusCode).toBe(200);
  await once(answer, "data");
  await then();
  answer.resume();
  await once(answer, "end");
};

test("a key that is revoked ends the streams that were opened with it", async () => {
  const { dataDir, url } = await listening();
  const key = await addKey(keysPath(dataDir), { name: "ann", role: "read", expiresAt: null }, 1);
  await readToEnd(url, { authorization: `Bearer ${key.reveal()}` }, () => revokeKey(keysPath(dataDir), "ann", 2));
});

test("a first key ends the streams of those who had none", async () => {
  const { dataDir, url } = await listening();
  const wish = { name: "ann", role: "read", expiresAt: null } as const;
  await readToEnd(url, {}, () => addKey(keysPath(dataDir), wish, 1));
});

test("a snapshot that the file system does not let be looked at ends the stream, not the server", async () => {
  const { snapshot, faults, url } = await listening();
  await readToEnd(url, {}, () => symlinkSync(snapshot, snapshot));
  expect(faults).toEqual([expect.objectContaining({ code: "ELOOP" })]);
});

test("a HEAD request ends with its headers", async () => {
  const { url } = await listening();
  const answer = await fetch(url, { method: "HEAD" });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect(await answer.text()).toBe("");
});
