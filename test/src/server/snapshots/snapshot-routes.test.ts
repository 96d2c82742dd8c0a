// The snapshot as a file over HTTP: parts, tags, kept snapshots, keys, the limit of bytes, the audit trail.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Clock } from "../../../../src/core/clock.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { addKey, keysPath, type Role } from "../../../../src/server/access/key-store.ts";
import type { ServerOptions } from "../../../../src/server/http/server-context.ts";
import { readTrail } from "../../../../src/warehouse/audit/read-trail.ts";
import { openTrail } from "../../../../src/warehouse/audit/trail.ts";
import { change } from "../../../support/change-mirror.ts";
import { aRunningServer, serving } from "../../../support/served.ts";
import { aCheckpoint, aLoad, aSignal } from "../../warehouse/builders.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const listSchema = z.object({
  data: z.array(
    z.object({ n: z.number(), at: z.iso.datetime(), position: z.number(), bytes: z.number(), complete: z.boolean() }),
  ),
});

/** A mirror, and a server over it on a socket; `others`: further profiles. */
const start = async (
  more: Partial<ServerOptions> = {},
  clock: Clock = systemClock,
  others: ServerOptions["profiles"] = [],
) => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const publish = (id: number) =>
    change(dataDir, (warehouse) => warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(id)])])), {
      keepSnapshots: { count: 3, ageMs: null },
    });
  const warn = () => undefined;
  const audit = openTrail({ dataDir, enabled: true, required: false, clock, warn });
  await publish(1);
  const running = await aRunningServer({
    ...serving(),
    profiles: [{ name: "default", snapshot, ratePerMinute: null, audit }, ...others],
    keyFile: keysPath(dataDir),
    clock,
    ...more,
  });
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(`${running.url}${path}`, { method, headers });
  const list = async () => listSchema.parse(await (await ask("/snapshots")).json()).data;
  const bytesOf = async (path: string, headers: Record<string, string> = {}) =>
    Buffer.from(await (await ask(path, headers)).arrayBuffer());
  const aKey = async (name: string, role: Role) => {
    const key = await addKey(keysPath(dataDir), { name, role, expiresAt: null }, clock.now());
    return { authorization: `Bearer ${key.reveal()}` };
  };
  return { dataDir, snapshot, publish, running, ask, list, bytesOf, aKey };
};
const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

test("the whole file, its head and its parts are the published snapshot", async () => {
  const { snapshot, ask, bytesOf } = await start();
  const file = readFileSync(snapshot);
  expect(sum(await bytesOf("/warehouse.duckdb"))).toBe(sum(file));
  const head = await ask("/warehouse.duckdb", {}, "HEAD");
  expect(head.status).toBe(200);
  expect(head.headers.get("content-length")).toBe(String(file.length));
  expect(head.headers.get("accept-ranges")).toBe("bytes");
  expect(head.headers.get("last-modified")).toMatch(/ GMT$/);
  expect(head.headers.get("etag")).toMatch(/^"[\w-]+"$/);
  const part = await ask("/warehouse.duckdb", { range: "bytes=4096-8191" });
  expect(part.status).toBe(206);
  expect(part.headers.get("content-range")).toBe(`bytes 4096-8191/${file.length}`);
  expect(sum(Buffer.from(await part.arrayBuffer()))).toBe(sum(file.subarray(4096, 8192)));
  const beyond = await ask("/warehouse.duckdb", { range: `bytes=${file.length}-` });
  expect(beyond.status).toBe(416);
  expect(beyond.headers.get("content-range")).toBe(`bytes */${file.length}`);
});

test("a publish gives the address another tag, and the earlier snapshot keeps its bytes and its tag under its number", async () => {
  const { snapshot, publish, ask, list, bytesOf } = await start();
  const file = readFileSync(snapshot);
  const etag = (await ask("/warehouse.duckdb", {}, "HEAD")).headers.get("etag") ?? "";
  expect((await ask("/warehouse.duckdb", { "if-none-match": etag })).status).toBe(304);
  await publish(2);
  expect((await ask("/warehouse.duckdb", { "if-none-match": etag })).status).toBe(200);
  expect((await ask("/warehouse.duckdb", { "if-match": etag })).status).toBe(412);
  // Who goes on with a range of the old file gets the whole new one, never a mixture.
  const whole = await ask("/warehouse.duckdb", { range: "bytes=0-9", "if-range": etag });
  expect(whole.status).toBe(200);
  await whole.arrayBuffer();
  expect((await list()).map(({ n, position }) => [n, position])).toEqual([
    [2, 2],
    [1, 1],
  ]);
  expect(sum(await bytesOf("/snapshots/1/warehouse.duckdb"))).toBe(sum(file));
  expect((await ask("/snapshots/1/warehouse.duckdb", {}, "HEAD")).headers.get("etag")).toBe(etag);
  expect(sum(await bytesOf("/snapshots/2/warehouse.duckdb"))).toBe(sum(readFileSync(snapshot)));
});

test("an answer that began before publishes ends with the snapshot that it began with", async () => {
  const { snapshot, publish, ask } = await start();
  const file = readFileSync(snapshot);
  const response = await ask("/warehouse.duckdb");
  for (const id of [2, 3, 4, 5]) await publish(id);
  expect(sum(Buffer.from(await response.arrayBuffer()))).toBe(sum(file));
  expect((await ask("/snapshots/1/warehouse.duckdb")).status).toBe(404);
});

test("a moment names the snapshot that readers saw then, and an earlier one than is kept is refused by name", async () => {
  const { publish, ask, list, bytesOf } = await start();
  for (const id of [2, 3]) await publish(id);
  for (const { n, at } of await list()) {
    const then = await bytesOf(`/warehouse.duckdb?at=${encodeURIComponent(at)}`);
    expect(sum(then)).toBe(sum(await bytesOf(`/snapshots/${n}/warehouse.duckdb`)));
  }
  const refused = await ask("/warehouse.duckdb?at=yesterday");
  expect(refused.status).toBe(404);
  expect(JSON.stringify(await refused.json())).toContain("the oldest is 1, of ");
  expect((await ask("/warehouse.duckdb?at=nonsense")).status).toBe(400);
  for (const n of ["0", "99", "x", "..%2f..%2fkeys.json"])
    expect((await ask(`/snapshots/${n}/warehouse.duckdb`)).status).toBe(404);
  // A client looks for a WAL, too.
  expect((await ask("/warehouse.duckdb.wal", {}, "HEAD")).status).toBe(404);
});

test("with keys, a reader needs one of role read, and has one line in the audit trail however many parts it takes", async () => {
  const { dataDir, aKey, ask } = await start();
  const reader = await aKey("reader", "read");
  const metrics = await aKey("prometheus", "metrics");
  expect((await ask("/warehouse.duckdb")).status).toBe(401);
  expect((await ask("/snapshots", metrics)).status).toBe(403);
  for (const start of [0, 4096, 8192, 12_288]) {
    const part = await ask("/warehouse.duckdb", { ...reader, range: `bytes=${start}-${start + 4095}` });
    expect((await part.arrayBuffer()).byteLength).toBe(4096);
  }
  const lines = (await readTrail(dataDir, 0, Date.now())).lines.filter(({ actor }) => actor === "reader");
  expect(lines).toMatchObject([{ action: "read", route: "/warehouse.duckdb", way: "key", outcome: "ok" }]);
});

test("a reader that got its bytes of this minute waits for the next one; other readers do not", async () => {
  let now = Date.UTC(2026, 10, 27);
  const clock = { ...systemClock, now: () => now };
  const { aKey, ask } = await start({ snapshotBytesPerMinute: 8192 }, clock);
  const one = await aKey("one", "read");
  const other = await aKey("other", "read");
  const part = (key: Record<string, string>) => ask("/warehouse.duckdb", { ...key, range: "bytes=0-8191" });
  expect((await part(one)).status).toBe(206);
  now += 20_000;
  const refused = await part(one);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("40");
  expect(await refused.json()).toMatchObject({ error: { code: "TOO_MANY_BYTES" } });
  expect((await part(other)).status).toBe(206);
  now += 40_000;
  expect((await part(one)).status).toBe(206);
});

test("`profile` names the mirror whose snapshots are read, in each address, and an unknown one is refused", async () => {
  const folder = tempDir();
  const snapshot = join(folder, "warehouse.duckdb");
  for (const id of [7, 8, 9]) {
    await change(folder, (warehouse) => warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(id)])])), {
      keepSnapshots: { count: 3, ageMs: null },
    });
  }
  const { ask, bytesOf } = await start({}, systemClock, [{ name: "other", snapshot, ratePerMinute: null }]);
  expect(sum(await bytesOf("/warehouse.duckdb?profile=other"))).toBe(sum(readFileSync(snapshot)));
  expect(sum(await bytesOf("/snapshots/3/warehouse.duckdb?profile=other"))).toBe(sum(readFileSync(snapshot)));
  const listed = async (query: string) => listSchema.parse(await (await ask(`/snapshots${query}`)).json()).data;
  expect((await listed("?profile=other")).map(({ n }) => n)).toEqual([3, 2, 1]);
  expect((await listed("?profile=default")).map(({ n }) => n)).toEqual([1]);
  const gone = await ask("/snapshots/3/warehouse.duckdb?profile=default");
  expect(gone.status).toBe(404);
  expect(await gone.json()).toMatchObject({ error: { code: "SNAPSHOT_GONE" } });
  const unknown = await ask("/warehouse.duckdb?profile=nobody");
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { code: "NOT_FOUND" } }]);
});
