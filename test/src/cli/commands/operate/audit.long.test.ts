// The audit trail of commands and of a worker over HTTP, on a real mirror: complete, and without any contact's data.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aContactsMirror, aFolder, cli, cliIn, startCli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";
import { aRedis } from "../../../queue/worker-rig.ts";

const sandbox = await forFile(startSandbox({ seed: 3, accounts: 2, plan: "enterprise", maxPerPage: 100, threads: 1 }));

const trailSchema = z.object({
  actions: z.array(z.object({ actor: z.string(), way: z.string(), action: z.string(), outcome: z.string() }).loose()),
  damaged: z.number(),
});
type Rows = readonly Record<string, unknown>[];

/** A mirror of contacts; `actions`: in its trail, `rows`: of a query. */
const aMirror = async (more: Record<string, string> = {}) => {
  const place = await aContactsMirror(sandbox, { DUCKMIRROR_SCHEDULE: "off", ...more });
  const actions = async (...words: readonly string[]) => trailSchema.parse(await place.json("audit", ...words)).actions;
  const rows = (sql: string): Promise<Rows> => place.json("query", sql);
  return { ...place, actions, rows };
};

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
  const { run, actions, rows } = await aMirror();
  await run("key", "add", "ann", "--role", "read");
  await run("key", "revoke", "ann");
  await run("key", "list");
  await run("query", "select count(*) from contacts where first_name = 'Ada'");
  await run("query", "select nope from contacts");
  await run("export", "--tables", "contacts");
  await run("verify", "--max-credits", "2");
  await run("sync", "contacts", "--quiet");
  await run("replay");
  const found = await actions();
  const os_user = userInfo().username;
  expect(found).toMatchObject([
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
  const loaded = await rows("select action, outcome from sync.audit order by started_at");
  const recorded = found.map(({ action, outcome }) => ({ action, outcome }));
  expect(loaded).toEqual([...recorded.slice(0, -1), { action: "replay", outcome: "started" }]);
});

test("a worker records who asked for a sync over HTTP, and the sync brings its lines along", async () => {
  const { env, run, actions, rows } = await aMirror();
  const key = (await run("key", "add", "ops", "--role", "operate")).out.trim();
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
  expect(await actions()).toMatchObject([
    { action: "sync", way: "command" },
    { action: "key add" },
    { ...asked, outcome: "ok", run_id: expect.any(String) },
    { actor: "unknown", way: "refused", action: "sync", outcome: "UNAUTHORIZED" },
  ]);
  expect(await rows("select actor, way, action, subject from sync.audit where actor = 'ops'")).toEqual([asked]);
});

test("over Redis the commands write the lines themselves, because the queue does not know who asks", async () => {
  const redis = await aRedis();
  const { env } = await aMirror({ DUCKMIRROR_AUDIT_ENABLED: "no" });
  const { run, json } = cliIn({ env: { ...env, REDIS_URL: redis.url, DUCKMIRROR_AUDIT_ENABLED: "yes" } });
  const asked = (await run("trigger", "contacts", "--quiet")).out.trim();
  expect((await run("jobs", "--cancel", asked)).code).toBe(0);
  expect((await run("jobs", "--cancel", "ada@x.example")).code).not.toBe(0);
  expect(trailSchema.parse(await json("audit")).actions).toMatchObject([
    { actor: "local", way: "command", action: "sync", subject: "contacts", run_id: asked, outcome: "ok" },
    { action: "cancel", run_id: asked, outcome: "ok" },
    { action: "cancel", run_id: null, outcome: "RUN_UNKNOWN" },
  ]);
});

test("a forgotten contact whose data was in SQL is nowhere in the data directory, and the trail stays as it was", async () => {
  const { dataDir, run, actions, rows } = await aMirror();
  const [contact] = await rows("select id, email, first_name, last_name from contacts where email is not null");
  const { id, email } = z.object({ id: z.coerce.string(), email: z.string() }).parse(contact);
  for (const sql of [
    `from contacts where id = '${id}'`,
    `from contacts where email = "${email}" -- ${email}`,
    `from contacts where email = ${email}`,
    `select '${email}`,
  ]) {
    await run("query", sql);
  }
  // So that sync.audit has them, too.
  expect((await run("sync", "--full", "--quiet")).code).toBe(0);
  const before = contents(join(dataDir, "state", "audit"));
  for (const [file, bytes] of before) {
    for (const value of [id, email, email.split("@")[1] ?? email])
      expect([file, bytes.includes(value)]).toEqual([file, false]);
  }
  expect((await run("forget", id, "--yes", "--quiet")).code).toBe(0);
  expect(filesWith(dataDir, email)).toEqual([]);
  expect(filesWith(dataDir, id)).toEqual([]);
  const found = await actions();
  const hash: unknown = JSON.parse(readFileSync(join(dataDir, "state/archive/forgotten.json"), "utf8")).contacts[0]
    .hash;
  expect(found.at(-1)).toMatchObject({ action: "forget", subject: hash, outcome: "ok" });
  // Only lines were added.
  const after = new Map(contents(join(dataDir, "state", "audit")));
  for (const [file, bytes] of before) expect(after.get(file)?.subarray(0, bytes.length)).toEqual(bytes);
});

test("audit prints a table for people, needs no warehouse, and starts where --since says", async () => {
  const { dataDir, run, actions } = await aMirror();
  await run("query", "select 1");
  rmSync(join(dataDir, "warehouse.duckdb"));
  rmSync(join(dataDir, "state", "working.duckdb"));
  const { code, out } = await run("audit");
  expect([code, out]).toEqual([0, expect.stringMatching(/command +│ query +│ select \?/)]);
  expect(await actions("--since", "2100-01-01")).toEqual([]);
  expect((await run("audit", "--since", "soon")).code).toBe(2);
  expect((await cli(["audit", "--data-dir", aFolder()])).out).toBe("Nothing is recorded.\n");
});

test("with audit_required a command does nothing that it cannot record; switched off, nothing is recorded", async () => {
  const { env, dataDir, actions } = await aMirror({ DUCKMIRROR_AUDIT_ENABLED: "no" });
  expect(await actions()).toEqual([]);
  const dir = join(dataDir, "state", "audit");
  writeFileSync(dir, "a file in the folder's place");
  const required = { ...env, DUCKMIRROR_AUDIT_ENABLED: "yes", DUCKMIRROR_AUDIT_REQUIRED: "yes" };
  const refused = await cli(["query", "select 42 as answer"], { env: required });
  expect([refused.code, refused.out, refused.err]).toEqual([2, "", expect.stringContaining("AUDIT_UNWRITABLE")]);
  const warned = await cli(["query", "select 42 as answer"], { env: { ...env, DUCKMIRROR_AUDIT_ENABLED: "yes" } });
  expect([warned.code, warned.err]).toEqual([0, expect.stringContaining("warning: The audit trail")]);
});

test("where the trail breaks during an action, its report is shown all the same", async () => {
  const { dataDir, run } = await aMirror({ DUCKMIRROR_AUDIT_REQUIRED: "yes" });
  const dir = join(dataDir, "state", "audit");
  sandbox.intercept(async (_request, next) => {
    rmSync(dir, { recursive: true, force: true });
    writeFileSync(dir, "a file in the folder's place");
    return next();
  });
  const { code, out, err } = await run("sync", "contacts", "--json");
  sandbox.intercept(undefined);
  expect([code, JSON.parse(out).status]).toEqual([0, "done"]);
  expect(err).toContain("warning: The audit trail");
});
