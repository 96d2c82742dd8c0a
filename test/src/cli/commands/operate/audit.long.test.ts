// The audit trail of commands and of a worker over HTTP, on a real mirror: complete, and without any contact's data.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aContactsMirror, aFolder, cli, startCli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";
import { aRedis } from "../../../queue/worker-rig.ts";

const sandbox = await forFile(startSandbox({ seed: 3, accounts: 2, plan: "enterprise", maxPerPage: 100, threads: 1 }));

const aMirror = (more: Record<string, string> = {}) =>
  aContactsMirror(sandbox, { DUCKMIRROR_SCHEDULE: "off", ...more });
type Env = Readonly<Record<string, string>>;

const trailSchema = z.object({
  actions: z.array(z.object({ actor: z.string(), way: z.string(), action: z.string(), outcome: z.string() }).loose()),
  damaged: z.number(),
});
const trail = async (env: Env, ...more: readonly string[]) =>
  trailSchema.parse(JSON.parse((await cli(["audit", "--json", ...more], { env })).out));

const rowsOf = async (env: Env, sql: string): Promise<readonly Record<string, unknown>[]> =>
  JSON.parse((await cli(["query", "--json", sql], { env })).out);

/** Everything below a folder as bytes, archives decompressed. */
const contents = (dir: string): readonly (readonly [file: string, bytes: Buffer])[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const bytes = readFileSync(file);
      return [file, file.endsWith(".gz") ? gunzipSync(bytes) : bytes] as const;
    });
const filesWith = (dir: string, text: string) =>
  contents(dir).flatMap(([file, bytes]) => (bytes.includes(text) ? [file] : []));

test("commands are recorded with the user of the system, and the next sync brings them to sync.audit", async () => {
  const { env } = await aMirror();
  await cli(["key", "add", "ann", "--role", "read"], { env });
  await cli(["key", "revoke", "ann"], { env });
  await cli(["key", "list"], { env });
  await cli(["query", "select count(*) from contacts where first_name = 'Ada'"], { env });
  await cli(["query", "select nope from contacts"], { env });
  await cli(["export", "--tables", "contacts"], { env });
  await cli(["verify", "--max-credits", "2"], { env });
  await cli(["sync", "contacts", "--quiet"], { env });
  await cli(["replay"], { env });
  const { actions } = await trail(env);
  const os_user = userInfo().username;
  expect(actions).toMatchObject([
    {
      actor: "local",
      way: "command",
      os_user,
      action: "sync",
      outcome: "ok",
      run_id: expect.stringMatching(/^\d{8}T/),
    },
    { action: "key add", subject: "ann", outcome: "ok" },
    { action: "key revoke", subject: "ann", outcome: "ok" },
    { action: "query", sql: "select count(*) from contacts where first_name = ?", rows: 1, outcome: "ok" },
    { action: "query", sql: "select n1 from contacts", outcome: "QUERY_FAILED" },
    { action: "export", subject: "parquet: contacts", outcome: "ok" },
    { action: "verify", outcome: expect.any(String) },
    { action: "sync", subject: "contacts", outcome: "ok" },
    { action: "replay", outcome: "ok" },
  ]);
  // The replay's own end is written after it published.
  const loaded = await rowsOf(env, "select action, outcome from sync.audit order by started_at");
  const recorded = actions.map(({ action, outcome }) => ({ action, outcome }));
  expect(loaded).toEqual([...recorded.slice(0, -1), { action: "replay", outcome: "started" }]);
});

test("a worker records who asked for a sync over HTTP, and the sync brings its lines along", async () => {
  const { env } = await aMirror();
  const key = (await cli(["key", "add", "ops", "--role", "operate"], { env })).out.trim();
  const worker = startCli(["worker", "--listen", "127.0.0.1:0", "--json"], { env });
  await expect.poll(() => worker.said.out).toContain("url");
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(worker.said.out));
  const setup = { env: { ...env, DUCKMIRROR_LISTEN: new URL(url).host, DUCKMIRROR_SERVER_KEY: key } };
  expect((await cli(["trigger", "contacts", "--wait", "--quiet"], setup)).code).toBe(0);
  expect((await cli(["trigger"], { env: { ...setup.env, DUCKMIRROR_SERVER_KEY: `${key}x` } })).code).not.toBe(0);
  // A command sends its key only to a worker that knows it; a stranger's program sends whatever it has.
  const authorization = `Bearer ${key}x`;
  expect((await fetch(`${url}/api/syncs`, { method: "POST", headers: { authorization } })).status).toBe(401);
  expect((await worker.stop()).code).toBe(0);
  const asked = { actor: "ops", way: "key", action: "sync", subject: "contacts" };
  expect((await trail(env)).actions).toMatchObject([
    { action: "sync", way: "command" },
    { action: "key add" },
    { ...asked, outcome: "ok", run_id: expect.any(String) },
    { actor: "unknown", way: "refused", action: "sync", outcome: "UNAUTHORIZED" },
  ]);
  expect(await rowsOf(env, "select actor, way, action, subject from sync.audit where actor = 'ops'")).toEqual([asked]);
});

test("over Redis the commands write the lines themselves, because the queue does not know who asks", async () => {
  const redis = await aRedis();
  const { env } = await aMirror({ DUCKMIRROR_AUDIT_ENABLED: "no" });
  const queued = { ...env, REDIS_URL: redis.url, DUCKMIRROR_AUDIT_ENABLED: "yes" };
  const run = (await cli(["trigger", "contacts", "--quiet"], { env: queued })).out.trim();
  expect((await cli(["jobs", "--cancel", run], { env: queued })).code).toBe(0);
  expect((await cli(["jobs", "--cancel", "ada@x.example"], { env: queued })).code).not.toBe(0);
  expect((await trail(queued)).actions).toMatchObject([
    { actor: "local", way: "command", action: "sync", subject: "contacts", run_id: run, outcome: "ok" },
    { action: "cancel", run_id: run, outcome: "ok" },
    { action: "cancel", run_id: null, outcome: "RUN_UNKNOWN" },
  ]);
});

test("a forgotten contact whose data was in SQL is nowhere in the data directory, and the trail stays as it was", async () => {
  const { env, dataDir } = await aMirror();
  const [contact] = await rowsOf(env, "select id, email, first_name, last_name from contacts where email is not null");
  const { id, email } = z.object({ id: z.coerce.string(), email: z.string() }).parse(contact);
  for (const sql of [
    `from contacts where id = '${id}'`,
    `from contacts where email = "${email}" -- ${email}`,
    `from contacts where email = ${email}`,
    `select '${email}`,
  ]) {
    await cli(["query", sql], { env });
  }
  // So that sync.audit has them, too.
  expect((await cli(["sync", "--full", "--quiet"], { env })).code).toBe(0);
  const before = contents(join(dataDir, "state", "audit"));
  for (const [file, bytes] of before) {
    for (const value of [id, email, email.split("@")[1] ?? email])
      expect([file, bytes.includes(value)]).toEqual([file, false]);
  }
  expect((await cli(["forget", id, "--yes", "--quiet"], { env })).code).toBe(0);
  expect(filesWith(dataDir, email)).toEqual([]);
  expect(filesWith(dataDir, id)).toEqual([]);
  const { actions } = await trail(env);
  const hash: unknown = JSON.parse(readFileSync(join(dataDir, "state/archive/forgotten.json"), "utf8")).contacts[0]
    .hash;
  expect(actions.at(-1)).toMatchObject({ action: "forget", subject: hash, outcome: "ok" });
  // Only lines were added.
  const after = new Map(contents(join(dataDir, "state", "audit")));
  for (const [file, bytes] of before) expect(after.get(file)?.subarray(0, bytes.length)).toEqual(bytes);
});

test("audit prints a table for people, needs no warehouse, and starts where --since says", async () => {
  const { env, dataDir } = await aMirror();
  await cli(["query", "select 1"], { env });
  rmSync(join(dataDir, "warehouse.duckdb"));
  rmSync(join(dataDir, "state", "working.duckdb"));
  const { code, out } = await cli(["audit"], { env });
  expect([code, out]).toEqual([0, expect.stringMatching(/command +│ query +│ select \?/)]);
  expect((await trail(env, "--since", "2100-01-01")).actions).toEqual([]);
  expect((await cli(["audit", "--since", "soon"], { env })).code).toBe(2);
  expect((await cli(["audit", "--data-dir", aFolder()])).out).toBe("Nothing is recorded.\n");
});

test("with audit_required a command does nothing that it cannot record; switched off, nothing is recorded", async () => {
  const { env, dataDir } = await aMirror({ DUCKMIRROR_AUDIT_ENABLED: "no" });
  expect((await trail(env)).actions).toEqual([]);
  const dir = join(dataDir, "state", "audit");
  writeFileSync(dir, "a file in the folder's place");
  const required = { ...env, DUCKMIRROR_AUDIT_ENABLED: "yes", DUCKMIRROR_AUDIT_REQUIRED: "yes" };
  const refused = await cli(["query", "select 42 as answer"], { env: required });
  expect([refused.code, refused.out, refused.err]).toEqual([2, "", expect.stringContaining("AUDIT_UNWRITABLE")]);
  const warned = await cli(["query", "select 42 as answer"], { env: { ...env, DUCKMIRROR_AUDIT_ENABLED: "yes" } });
  expect([warned.code, warned.err]).toEqual([0, expect.stringContaining("warning: The audit trail")]);
});

test("where the trail breaks during an action, its report is shown all the same", async () => {
  const { env, dataDir } = await aMirror({ DUCKMIRROR_AUDIT_REQUIRED: "yes" });
  const dir = join(dataDir, "state", "audit");
  sandbox.intercept(async (_request, next) => {
    rmSync(dir, { recursive: true, force: true });
    writeFileSync(dir, "a file in the folder's place");
    return next();
  });
  const { code, out, err } = await cli(["sync", "contacts", "--json"], { env });
  sandbox.intercept(undefined);
  expect([code, JSON.parse(out).status]).toEqual([0, "done"]);
  expect(err).toContain("warning: The audit trail");
});
