// The mirror by its address, in DuckDB for Python with httpfs: the recipes of docs/REMOTE.md, and twenty readers during
// publishes (REMOTE_PUBLISHES=50 for more of them).
import { cpSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { afterTest } from "../support/after-test.ts";
import { change } from "../support/change-mirror.ts";
import { extendedClient } from "./extended-client.ts";
import { run, runWell, type Started, start } from "./programs.ts";
import { pythonVenv } from "./python-venv.ts";

const docs = join(import.meta.dirname, "../../docs/integrations");
const python = () => join(inject("venv"), "bin/python");

let client: Readonly<Record<string, string>>;
beforeAll(async () => {
  client = (await extendedClient("httpfs")).env;
});

const listening = z.object({ url: z.string() });

/** A copy of the mirror, served by the built program with a key. */
const serve = async () => {
  const dataDir = join(tempFolder(), "data");
  cpSync(inject("mirror"), dataDir, { recursive: true });
  const cli = inject("builtCli");
  const at = ["--data-dir", dataDir];
  const key = (await runWell(process.execPath, [cli, "key", "add", "reader", "--role", "read", ...at])).trim();
  const server: Started = start(process.execPath, [cli, "serve", "--listen", "127.0.0.1:0", "--json", ...at], {});
  afterTest(() => server.stop());
  const { url } = listening.parse(JSON.parse(await server.seen(/\{[\s\S]*?\}/)));
  /** Publishes once more, with the generation in the data. */
  const publish = (generation: number) =>
    change(
      dataDir,
      ({ database }) => database.run(`UPDATE main.accounts SET main_score = ${generation}, priority = ${generation}`),
      { keepSnapshots: { count: 60, ageMs: null } },
    );
  return { dataDir, url, key, server, publish };
};

test("the recipe reads now, by number into pandas, and as of yesterday", async () => {
  const { url, key, publish } = await serve();
  await publish(1);
  await publish(2);
  const out = await runWell(python(), [join(docs, "remote/readers.py"), url, "0s"], {
    env: { ...client, DUCKMIRROR_KEY: key },
  });
  expect(out).toMatch(/^12 accounts now\n12 accounts in a frame of pandas, of change \d+\n12 accounts as of 0s\n$/);
  const early = await runWell(python(), [join(docs, "remote/readers.py"), url], {
    env: { ...client, DUCKMIRROR_KEY: key },
  });
  expect(early).toMatch(/no snapshot as of yesterday is kept\n$/);
  const refused = await run(python(), [join(docs, "remote/readers.py"), url], {
    env: { ...client, DUCKMIRROR_KEY: "dm_wrong" },
  });
  expect(refused.code).not.toBe(0);
});

test("dbt builds the project over the address", async () => {
  const { url, key } = await serve();
  const folder = join(tempFolder(), "dbt");
  cpSync(join(docs, "dbt"), folder, { recursive: true });
  const env = {
    ...client,
    DUCKMIRROR_URL: `${url}/warehouse.duckdb`,
    DUCKMIRROR_KEY: key,
    DBT_SEND_ANONYMOUS_USAGE_STATS: "false",
  };
  const argv = ["--no-use-colors", "build", "--profiles-dir", ".", "--target", "remote"];
  const build = await run(join(inject("venv"), "bin/dbt"), argv, { cwd: folder, env });
  expect(build.code, build.out + build.err).toBe(0);
  expect(build.out).toMatch(/Done\. PASS=\d\d+ WARN=\d+ ERROR=0 SKIP=0/);
});

test("Superset asks the mirror by its address, with the recipe in its configuration", async () => {
  const superset = await pythonVenv("superset", join(import.meta.dirname, "requirements-superset.txt"));
  const { url, key } = await serve();
  const script = join(import.meta.dirname, "superset_remote.py");
  const out = await runWell(join(superset, "bin/python"), [script], {
    env: {
      HOME: client.HOME ?? "",
      SUPERSET_HOME: tempFolder(),
      SUPERSET_SECRET_KEY: "of this test",
      SUPERSET_CONFIG_PATH: join(docs, "remote/superset_config.py"),
      DUCKMIRROR_URL: url,
      DUCKMIRROR_KEY: key,
    },
  });
  expect(out).toMatch(/^rows 12$/m);
  expect(out).toMatch(/^tables .*\baccounts\b.*\bsignals\b/m);
});

const figuresSchema = z.object({
  requests: z.number(),
  bytes: z.number(),
  attach_ms: z.number(),
  first_ms: z.number(),
  rows: z.number(),
});

/** 1000 for docs/REMOTE.md; takes two minutes and 5 GB of disk. */
const ATTACH_MB = Number(process.env.ATTACH_MB ?? "10");

test("attaching fetches a small part of the file, however large that is", async () => {
  const { dataDir, url, key } = await serve();
  await change(dataDir, ({ database }) =>
    database.run(
      `INSERT INTO main.signals (id, account_id, headline, smart_summary, type, _first_synced_at, _synced_at, _run_id)
       SELECT 1000000 + i, i % 12, md5(i::VARCHAR), to_json(md5((i * 7)::VARCHAR) || md5((i * 5)::VARCHAR) || md5((i * 3)::VARCHAR)), 'news', now(), now(), 'r'
       FROM range(${ATTACH_MB * 13_000}) AS t(i)`,
    ),
  );
  const { size } = statSync(join(dataDir, "warehouse.duckdb"));
  expect(size).toBeGreaterThan(ATTACH_MB * 1_000_000);
  const script = join(import.meta.dirname, "remote_attach.py");
  const out = await runWell(python(), [script, url], { env: { ...client, DUCKMIRROR_KEY: key } });
  const found = figuresSchema.parse(JSON.parse(out));
  process.stdout.write(`${JSON.stringify({ size, ...found })}\n`);
  expect(found.rows).toBe(12);
  expect(found.requests).toBeLessThan(200);
  expect(found.bytes).toBeLessThan(Math.max(6_000_000, size / 10));
});

const READERS = 20;
const PUBLISHES = Number(process.env.REMOTE_PUBLISHES ?? "15");
const readerSchema = z.object({
  readings: z.number(),
  mixed: z.array(z.unknown()),
  refused: z.array(z.string()),
  attach_ms: z.array(z.number()),
});

/** Most memory that the process had at once, bytes. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

test("twenty readers during publishes get each answer from one snapshot, and none is refused", async () => {
  const { url, key, publish, server } = await serve();
  await publish(0);
  const env = { ...client, DUCKMIRROR_KEY: key };
  const script = join(import.meta.dirname, "remote_reader.py");
  const readers = Array.from({ length: READERS }, () => start(python(), [script, url], env));
  await Promise.all(readers.map((reader) => reader.seen(/ready/)));
  for (let generation = 1; generation <= PUBLISHES; generation++) await publish(generation);
  const found = [];
  for (const reader of readers) {
    const result = reader.seen(/^\{.*\}$/m);
    await reader.stop();
    found.push(readerSchema.parse(JSON.parse(await result)));
  }
  expect(found.flatMap(({ mixed }) => mixed)).toEqual([]);
  expect(found.flatMap(({ refused }) => refused)).toEqual([]);
  const readings = found.map(({ readings }) => readings);
  expect(Math.min(...readings)).toBeGreaterThan(0);
  const attaching = found.flatMap(({ attach_ms }) => attach_ms).toSorted((a, b) => a - b);
  const peak = peakOf(server.pid);
  expect(peak).toBeLessThan(200 * 1024 * 1024);
  const figures = { readings: readings.reduce((sum, n) => sum + n, 0), median: attaching[attaching.length >> 1], peak };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
});
