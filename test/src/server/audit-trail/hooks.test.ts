// Lines of the audit trail for requests, from a real server over HTTP with named keys.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { addKey, keysPath, type Role } from "../../../../src/server/access/key-store.ts";
import { type RunningServer, startServer } from "../../../../src/server/app.ts";
import type { ServerOptions } from "../../../../src/server/http/server-context.ts";
import { lastOfEach } from "../../../../src/warehouse/audit/audit-line.ts";
import { readTrail } from "../../../../src/warehouse/audit/read-trail.ts";
import { openTrail, trailDir } from "../../../../src/warehouse/audit/trail.ts";
import { runQuery } from "../../../../src/warehouse/read/query.ts";
import { serving } from "../../../support/served.ts";
import { mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(2);

let server: RunningServer;
const faults: unknown[] = [];
const warnings: string[] = [];
const aTrail = (dataDir: string, required: boolean) => {
  const warn = (text: string) => void warnings.push(text);
  return openTrail({ dataDir, enabled: true, required, clock: systemClock, warn });
};
const aProfile = (name: string, audit: Pick<ServerOptions["profiles"][number], "audit">) => ({
  ...{ name, snapshot: mirror.snapshot, ratePerMinute: null },
  ...audit,
});
const triggers = {
  start: async () => ({ runId: "run-1", joined: false }),
  find: async () => null,
  cancel: async () => true,
};
const serve = async (required = false, more: Partial<ServerOptions> = {}) => {
  const { dataDir } = mirror;
  server = await startServer(
    {
      ...serving(),
      profiles: [aProfile("default", { audit: aTrail(dataDir, required) })],
      keyFile: keysPath(dataDir),
      triggers,
      onFault: (error) => void faults.push(error),
      ...more,
    },
    { host: "127.0.0.1", port: 0 },
  );
};
beforeEach(() => {
  faults.length = 0;
  warnings.length = 0;
  rmSync(trailDir(mirror.dataDir), { recursive: true, force: true });
  rmSync(keysPath(mirror.dataDir), { force: true });
});
afterEach(() => server.close());

const aKey = async (name: string, role: Role) =>
  (await addKey(keysPath(mirror.dataDir), { name, role, expiresAt: null }, Date.now())).reveal();
const ask = async (path: string, key: string | null, init: RequestInit = {}) => {
  const headers = { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...init.headers };
  const answer = await fetch(`${server.url}${path}`, { redirect: "manual", ...init, headers });
  return { status: answer.status, text: await answer.text() };
};
const post = (path: string, key: string | null, body: object, signal: AbortSignal | null = null) =>
  ask(path, key, {
    signal,
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
const linesOf = async () => (await readTrail(mirror.dataDir, 0, Date.now())).lines;
const written = async () => lastOfEach(await linesOf());

describe("who and what", () => {
  test("a query has the key's name, its shape, its rows, and a line before it runs", async () => {
    await serve();
    const key = await aKey("ann", "read");
    const { status, text } = await post("/api/query", key, { sql: "from accounts where name <> 'Ada' limit 1" });
    expect(status).toBe(200);
    const lines = await linesOf();
    expect(lines.map(({ outcome }) => outcome)).toEqual(["started", "ok"]);
    expect(lines[1]).toMatchObject({
      actor: "ann",
      way: "key",
      action: "query",
      route: "/api/query",
      sql: "from accounts where name <> ? limit ?",
      rows: 1,
      bytes: Buffer.byteLength(text),
      address: null,
    });
  });

  test("a failed query has the code of its error; without any key it is somebody on this machine", async () => {
    await serve();
    await post("/api/query", null, { sql: "select nope from accounts" });
    expect(await written()).toMatchObject([
      { actor: "local", way: "open", action: "query", outcome: "QUERY_FAILED", sql: "select n1 from accounts" },
    ]);
  });

  test("a read has the path's template, its rows, and names of known parameters without values", async () => {
    await serve();
    const key = await aKey("ann", "read");
    const [[id] = []] = (await runQuery({ snapshot: mirror.snapshot, sql: "select id from contacts limit 1" })).rows;
    await ask("/v1/contacts?perPage=2&sortOrder=asc&ada@x.example", key);
    await ask(`/profiles/default/v1/contacts/${id}`, key);
    await ask("/v1/contacts/ada@x.example/nothing", key);
    expect(await written()).toMatchObject([
      { action: "read", route: "/v1/contacts", parameters: ["perPage", "sortOrder", "?"], outcome: "ok", rows: 2 },
      { action: "read", route: "/profiles/{profile}/v1/contacts/{contactId}", outcome: "ok", rows: 1 },
      { action: "read", route: "/v1/?", outcome: "NOT_FOUND" },
    ]);
    const text = readFileSync(join(trailDir(mirror.dataDir), `${new Date().toISOString().slice(0, 10)}.jsonl`), "utf8");
    for (const value of ["x.example", String(id)]) expect(text).not.toContain(value);
  });

  test("a query whose client leaves has the code of its end", async () => {
    await serve();
    const gone = new AbortController();
    const sql = "select count(*) from range(1000000) a, range(1000000) b where a.range * b.range = -1";
    const asked = post("/api/query", null, { sql }, gone.signal);
    await vi.waitFor(async () => expect(await linesOf()).toHaveLength(1), { timeout: 10_000 });
    gone.abort();
    await expect(asked).rejects.toThrow();
    await vi.waitFor(async () => expect(await linesOf()).toHaveLength(2), { timeout: 10_000 });
    expect(await written()).toMatchObject([{ action: "query", outcome: "QUERY_LIMIT", rows: null }]);
  });

  test("a line belongs to the profile that the request names, in body, path or query", async () => {
    const other = join(mirror.dataDir, "state", "other");
    const profiles = [
      aProfile("first", { audit: aTrail(mirror.dataDir, true) }),
      aProfile("other", { audit: aTrail(other, true) }),
    ];
    await serve(false, { profiles });
    await post("/api/query", null, { sql: "select 1", profile: "other" });
    await ask("/profiles/other/v1/accounts", null);
    await ask("/api/runs/none/requests?profile=other", null);
    await post("/api/query", null, { sql: "select 1", profile: "nobody" });
    const others = lastOfEach((await readTrail(other, 0, Date.now())).lines);
    expect(others.map(({ action }) => action)).toEqual(["query", "read", "read"]);
    expect(await written()).toMatchObject([{ action: "query", outcome: "NOT_FOUND" }]);
    rmSync(other, { recursive: true });
  });

  test("a profile named where the route does not read it moves no line elsewhere", async () => {
    const profiles = [aProfile("first", { audit: aTrail(mirror.dataDir, true) }), aProfile("other", {})];
    await serve(false, { profiles });
    await post("/api/query?profile=other", null, { sql: "select 1" });
    await ask("/v1/accounts?profile=other", null);
    expect((await written()).map(({ action }) => action)).toEqual(["query", "read"]);
  });

  test("a sync, its cancellation and a verification have run id and known streams", async () => {
    await serve();
    const key = await aKey("ops", "operate");
    await post("/api/syncs", key, { streams: ["accounts", "ada@x.example"] });
    await ask("/api/syncs/run-1", key, { method: "DELETE" });
    await post("/api/verifications", key, {});
    expect(await written()).toMatchObject([
      { actor: "ops", action: "sync", subject: "accounts", run_id: "run-1", outcome: "ok" },
      { action: "cancel", route: "/api/syncs/{id}", run_id: "run-1", outcome: "ok" },
      { action: "verify", run_id: null, outcome: "SYNCS_NOT_STARTED_HERE" },
    ]);
  });
});

describe("refusals", () => {
  test("wrong keys, too low roles and wrong logins are recorded with their address, the keys are not", async () => {
    await serve();
    const key = await aKey("watcher", "metrics");
    await ask("/metrics", "dm_wrong");
    await post("/api/query", null, { sql: "from contacts" });
    await ask("/v1/accounts", key);
    const login = (text: string) => ask("/login", null, { method: "POST", body: new URLSearchParams({ key: text }) });
    await login("dm_wrong");
    await login(key);
    expect(await written()).toMatchObject([
      { actor: "unknown", way: "refused", address: "127.0.0.1", route: "/metrics", outcome: "UNAUTHORIZED" },
      { actor: "unknown", way: "refused", action: "query", sql: null, outcome: "UNAUTHORIZED" },
      { actor: "watcher", way: "key", action: "read", outcome: "ROLE_TOO_LOW" },
      { actor: "unknown", way: "refused", action: "login", outcome: "LOGIN_REFUSED" },
      { actor: "watcher", way: "session", action: "login", outcome: "ok" },
    ]);
    const files = JSON.stringify(await linesOf());
    for (const secret of ["dm_wrong", key]) expect(files).not.toContain(secret);
  });
});

test("neither strangers nor keys of a low role can fill the disk: further lines that are alike are counted", async () => {
  await serve();
  const watcher = await aKey("watcher", "metrics");
  const ann = await aKey("ann", "read");
  for (let nth = 0; nth < 70; nth++) await post("/api/query", null, { sql: "select 1" });
  for (let nth = 0; nth < 70; nth++) await ask("/v1/accounts", watcher);
  expect(await linesOf()).toHaveLength(120);
  for (let nth = 0; nth < 605; nth++) await ask("/v1/nothing", ann);
  expect(await linesOf()).toHaveLength(720);
  await server.close();
  expect((await linesOf()).slice(-3)).toMatchObject([
    { outcome: "UNAUTHORIZED", unwritten: 10 },
    { actor: "watcher", outcome: "ROLE_TOO_LOW", unwritten: 10 },
    { actor: "ann", outcome: "NOT_FOUND", unwritten: 5 },
  ]);
});

describe("a trail that cannot be written", () => {
  beforeEach(() => {
    mkdirSync(join(mirror.dataDir, "state"), { recursive: true });
    writeFileSync(trailDir(mirror.dataDir), "a file in the folder's place");
  });

  test("stops queries, actions and reads where it is required, and nothing leaves", async () => {
    let started = 0;
    const start = async () => {
      started += 1;
      return { runId: "run-1", joined: false };
    };
    await serve(true, { triggers: { ...triggers, start } });
    const answers = [
      await post("/api/query", null, { sql: "select 42 as answer" }),
      await post("/api/syncs", null, {}),
      await ask("/v1/accounts", null),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ error: { code: "AUDIT_UNWRITABLE" } });
    }
    expect(started).toBe(0);
    expect((await ask("/healthz", null)).status).toBe(200);
  });

  test("is warned of once where it is not", async () => {
    await serve(false);
    expect((await post("/api/query", null, { sql: "select 1" })).status).toBe(200);
    expect((await ask("/v1/accounts", null)).status).toBe(200);
    expect(warnings).toHaveLength(1);
  });
});
