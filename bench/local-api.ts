// Case local-api: how many requests a second `serve` answers from the mirror, and how long the slowest of a hundred
// takes, beside the same bytes from a server that holds them ready. The server runs in a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { migrate } from "../src/warehouse/file/migrate.ts";
import { applyViews } from "../src/warehouse/file/views.ts";
import { type BenchCase, type Figure, median } from "./case.ts";
import { closedLoad, type Load, offeredLoad } from "./http-load.ts";
import { randomFrom } from "./simulated-month.ts";

const ACCOUNTS = 5000;
const SIGNALS = 1_000_000;
const CLIENTS = 16;
const ROUNDS = 5;
const ROUND_MS = 2000;
const OFFERED_MS = 5000;

const FILL = [
  `INSERT INTO main.accounts (id, organization_id, company_id, name, type, main_score, created_at, updated_at, _synced_at, _run_id)
   SELECT i, 'org', 'c' || i, 'Account ' || i, 'prospect', i % 100, now(), now(), now(), 'r' FROM range(1, ${ACCOUNTS} + 1) r(i)`,
  `INSERT INTO main.signals (id, organization_id, account_id, type, headline, description, date, created_at, updated_at, _synced_at, _run_id)
   SELECT i, 'org', 1 + hash(i) % ${ACCOUNTS}, 'podcast', 'Signal ' || i, repeat(md5(i::VARCHAR), 6), moment, moment, moment, now(), 'r'
   FROM (SELECT i, now()::TIMESTAMPTZ - to_seconds(CAST((${SIGNALS} - i) * 60 AS BIGINT)) AS moment FROM range(${SIGNALS}) r(i))`,
];

/** What clients ask for; each takes the number of the request. */
const ROUTES: Readonly<Record<string, (n: number) => string>> = {
  "one account": (n) => `/v1/accounts/${1 + ((n * 7919) % ACCOUNTS)}`,
  "one signal, another each time": (n) => `/v1/signals/${1 + ((n * 7919) % SIGNALS)}`,
  "100 signals, another page each time": (n) => `/v1/signals?page=${1 + ((n * 79) % (SIGNALS / 100))}&perPage=100`,
  "100 accounts, sorted by name": (n) => `/v1/accounts?page=${1 + (n % 50)}&perPage=100&sortBy=name&sortOrder=asc`,
  "100 signals, newest first": (n) => `/v1/signals?page=${1 + (n % 20)}&perPage=100`,
  "signals of one account": (n) => `/v1/signals?perPage=100&accountId=${1 + ((n * 7919) % ACCOUNTS)}`,
};

/** Routes whose answers are not kept. They are also asked as often as the aim says: a closed load is all that the cores can do. */
const OFFERED = ["100 signals, another page each time", "signals of one account"];

const makeSnapshot = async (file: string): Promise<void> => {
  const database = await openDatabase(file);
  await migrate(database, Date.now());
  await applyViews(database, Date.now());
  for (const sql of FILL) await database.run(sql);
  await database.flushWal();
  await database.close();
};

const startServe = async (dataDir: string): Promise<{ child: ChildProcess; url: string }> => {
  const cli = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
  const child = spawn(process.execPath, [cli, "serve", "--listen", "127.0.0.1:0", "-q"], {
    env: { PATH: process.env.PATH, DUCKMIRROR_DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(createInterface({ input: child.stdout }), "line");
  return { child, url: String(url) };
};

/** Answers every request with the same bytes. */
const startReady = async (body: string) => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() };
};

/** Requests a second that a route has to reach, and the time that 99 of a hundred may take, ms. */
const LEAST_RECORDS = 1000;
const LEAST_PAGES = 100;
const MOST_P99 = 50;

const figure = (name: string, serve: readonly Load[], ready: readonly Load[]): Figure => {
  const of = (loads: readonly Load[], what: keyof Load) => median(loads.map((load) => load[what]));
  const ratio = of(ready, "perSecond") / of(serve, "perSecond");
  const value = `${of(serve, "perSecond").toFixed(0)}/s, median ${of(serve, "p50").toFixed(1)} ms, p99 ${of(serve, "p99").toFixed(1)} ms; ready bytes ${ratio.toFixed(1)} × as many`;
  const least = name.startsWith("one ") ? LEAST_RECORDS : LEAST_PAGES;
  const reached = of(serve, "perSecond") >= least && of(serve, "p99") <= MOST_P99;
  return { measure: name, value, aim: `≥ ${least}/s, p99 ≤ ${MOST_P99} ms`, reached };
};

const offeredFigure = (name: string, loads: readonly Load[]): Figure => {
  const [p50, p99] = [median(loads.map((load) => load.p50)), median(loads.map((load) => load.p99))];
  return {
    measure: `${name}, ${LEAST_PAGES} a second at random moments`,
    value: `median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    aim: `p99 ≤ ${MOST_P99} ms`,
    reached: p99 <= MOST_P99,
  };
};

const figuresOf = async (url: string, name: string, path: (n: number) => string): Promise<readonly Figure[]> => {
  const ready = await startReady(await (await fetch(`${url}${path(1)}`)).text());
  const serve: Load[] = [];
  const plain: Load[] = [];
  const offered: Load[] = [];
  const numbers = { next: 0 };
  const random = randomFrom(SIGNALS);
  const options = { url, connections: CLIENTS, durationMs: ROUND_MS, path, numbers };
  for (let round = 0; round < ROUNDS; round++) {
    serve.push(await closedLoad(options));
    plain.push(await closedLoad({ ...options, url: ready.url, numbers: { next: 0 } }));
    if (!OFFERED.includes(name)) continue;
    offered.push(await offeredLoad({ ...options, durationMs: OFFERED_MS }, LEAST_PAGES, random));
  }
  ready.close();
  const closed = figure(name, serve, plain);
  return offered.length === 0 ? [closed] : [closed, offeredFigure(name, offered)];
};

export const localApi: BenchCase = {
  id: "local-api",
  title: `Local API: ${CLIENTS} clients, ${ACCOUNTS} accounts, ${SIGNALS} signals, medians of ${ROUNDS} rounds; times are of two shared cores`,
  run: async (): Promise<readonly Figure[]> => {
    const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-bench-api-"));
    await makeSnapshot(join(dataDir, "warehouse.duckdb"));
    const { child, url } = await startServe(dataDir);
    try {
      const figures: Figure[] = [];
      for (const [name, path] of Object.entries(ROUTES)) {
        figures.push(...(await figuresOf(url, name, path)));
      }
      return figures;
    } finally {
      child.kill("SIGTERM");
      await once(child, "exit");
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};
