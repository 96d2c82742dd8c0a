// GET /api/changes: pages of the change feed, and their limits. GET /api/events: a stream ends when its reader loses access, and when the
// snapshot cannot be looked at; the server goes on.
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { addKey, keysPath, revokeKey } from "../../../../src/server/access/key-store.ts";
import { aRunningServer, serving } from "../../../support/served.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(2);
const server = await mirror.server();

const pageSchema = z.strictObject({
  data: z.array(z.looseObject({ n: z.number(), table: z.string(), change: z.string() })),
  next: z.number(),
});
const ask = (query: string) => server.app.inject({ url: `/api/changes${query}`, headers: HERE });
const page = async (query: string) => pageSchema.parse((await ask(query)).json());

test("pages follow one another by `next`, without a gap, to the last change", async () => {
  const numbers: number[] = [];
  let after = 0;
  for (;;) {
    const { data, next } = await page(`?after=${after}&limit=40`);
    numbers.push(...data.map(({ n }) => n));
    if (data.length === 0) break;
    after = next;
  }
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(numbers.length).toBeGreaterThan(80);
  expect(await page(`?after=${after}`)).toEqual({ data: [], next: after });
});

test("without parameters the first hundred come; tables and limit choose", async () => {
  expect((await page("")).data.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  const { data } = await page("?tables=accounts,owners&limit=3");
  expect(new Set(data.map(({ table }) => table))).toEqual(new Set(["accounts", "owners"]));
});

test("later syncs continue the feed", async () => {
  const { next } = await page("?limit=1000&after=0");
  let last = next;
  for (let more = await page(`?after=${last}&limit=1000`); more.data.length > 0; ) {
    last = more.next;
    more = await page(`?after=${last}&limit=1000`);
  }
  await mirror.sync();
  const fresh = await page(`?after=${last}&limit=1000`);
  expect(fresh.data[0]).toMatchObject({ n: last + 1 });
});

test.each([
  ["?after=-1", 400, "USAGE"],
  ["?after=x", 400, "USAGE"],
  ["?limit=0", 400, "USAGE"],
  ["?limit=1001", 400, "USAGE"],
  ["?tables=nothing", 400, "USAGE"],
  ["?after=99999999", 400, "CHANGES_AHEAD"],
  ["?profile=nobody", 404, "NOT_FOUND"],
])("%s is refused with %i %s", async (query, status, code) => {
  const answer = await ask(query);
  expect([answer.statusCode, answer.json().error.code]).toEqual([status, code]);
});

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
