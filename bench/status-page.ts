// What a person waits for who opens the status page of a large mirror: a million signals, ten thousand runs with forty
// requests each. The server is started anew for each round, so that nothing is computed before the page asks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { systemClock } from "../src/core/clock.ts";
import { startServer } from "../src/server/app.ts";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { migrate } from "../src/warehouse/file/migrate.ts";
import { applyViews } from "../src/warehouse/file/views.ts";
import { atMost, type BenchCase, median } from "./case.ts";

const SIGNALS = 1_000_000;
const RUNS = 10_000;
const REQUESTS_PER_RUN = 40;
const COMPANIES = 1000;
const ROUNDS = 5;

/** Two years of events, a run every 90 minutes, one list in a hundred refused. */
const FILL = [
  `INSERT INTO main.signals (id, organization_id, account_id, type, headline, description, date, created_at, updated_at,
     _first_synced_at, _synced_at, _run_id)
   SELECT i, 'org', hash(i) % 5000, 'podcast', 'Signal ' || i, repeat(md5(i::VARCHAR), 6), moment, moment, moment, moment, moment, 'run-1'
   FROM (SELECT i, now()::TIMESTAMPTZ - to_seconds(CAST((${SIGNALS} - i) * 60 AS BIGINT)) AS moment FROM range(${SIGNALS}) r(i))`,
  `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, forecast, summary)
   SELECT 'run-' || i, 'incremental', CASE WHEN i % 50 = 0 THEN 'partial' ELSE 'done' END,
     now()::TIMESTAMPTZ - to_minutes(CAST((${RUNS} - i) * 90 AS BIGINT)),
     now()::TIMESTAMPTZ - to_minutes(CAST((${RUNS} - i) * 90 - 2 AS BIGINT)), '{"requests":${REQUESTS_PER_RUN}}', '{}'
   FROM range(${RUNS}) r(i)`,
  `INSERT INTO sync.requests (request_id, run_id, stream, scope, endpoint, url, status, charge, credits, started_at,
     duration_ms, bytes, "rows", attempt)
   SELECT 'q' || i, 'run-' || (i // ${REQUESTS_PER_RUN}), 'news_articles', 'c' || (i % ${COMPANIES}),
     '/v1/companies/{companyId}/news-articles', 'https://api.example.com/v1/companies/c' || (i % ${COMPANIES}) || '/news-articles',
     CASE WHEN i % 100 = 0 THEN 429 ELSE 200 END, CASE WHEN i % 100 = 0 THEN 'free' ELSE 'spent' END, 1,
     now()::TIMESTAMPTZ - to_minutes(CAST((${RUNS} - i // ${REQUESTS_PER_RUN}) * 90 AS BIGINT)) + to_seconds(i % ${REQUESTS_PER_RUN}),
     120, 20000, 100, 1
   FROM range(${RUNS * REQUESTS_PER_RUN}) r(i)`,
  `INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at, _first_synced_at, _synced_at, _run_id)
   SELECT moment, 1000000, i * 40, 1000000 - i * 40, TIMESTAMPTZ '2099-01-01', moment, moment, 'run-1'
   FROM (SELECT i, now()::TIMESTAMPTZ - to_minutes(CAST((${RUNS} - i) * 90 AS BIGINT)) AS moment FROM range(${RUNS}) r(i))`,
  `INSERT INTO sync.stream_state (stream, scope, status, total_count, checked_at, walked_at, run_id)
   SELECT stream, 'c' || i, 'idle', 100, now(), now(), 'run-1'
   FROM range(${COMPANIES}) r(i), (VALUES ('news_articles'), ('job_openings'), ('filings')) s(stream)`,
];

const makeSnapshot = async (file: string): Promise<void> => {
  const database = await openDatabase(file);
  await migrate(database, Date.now());
  await applyViews(database, Date.now());
  for (const sql of FILL) await database.run(sql);
  await database.flushWal();
  await database.close();
};

/** ms after the navigation began, as the browser itself measured them. */
const TIMES = `[
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  performance.getEntriesByName("figures")[0].startTime,
  performance.getEntriesByName("complete")[0].startTime
].map(Math.round)`;

export const statusPage: BenchCase = {
  id: "status-page",
  title: `Status page of ${SIGNALS.toLocaleString("en-US")} signals and ${RUNS.toLocaleString("en-US")} runs`,
  run: async () => {
    const dir = mkdtempSync(join(tmpdir(), "duckmirror-bench-page-"));
    const snapshot = join(dir, "warehouse.duckdb");
    await makeSnapshot(snapshot);
    const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
    const args = [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
    ];
    const browser = await chromium.launch({ executablePath, args });
    const rounds: number[][] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const profiles = [{ name: "default", snapshot, ratePerMinute: 300 }];
        const options = { profiles, key: null, clock: systemClock, version: "bench", onFault: () => undefined };
        const server = await startServer(options, { host: "127.0.0.1", port: 0 });
        const page = await (await browser.newContext()).newPage();
        await page.goto(server.url);
        await page.locator("#content[data-complete]").waitFor();
        rounds.push(await page.evaluate<number[]>(TIMES));
        await page.context().close();
        await server.close();
      }
    } finally {
      await browser.close();
      rmSync(dir, { recursive: true, force: true });
    }
    const times = (at: number) => rounds.map((round) => round[at] ?? Number.NaN);
    return [
      atMost("first paint, slowest of five", Math.max(...times(0)), 1000, " ms", 0),
      atMost("figures on the page, median", median(times(1)), 1000, " ms", 0),
      atMost("figures on the page, slowest of five", Math.max(...times(1)), 1500, " ms", 0),
      atMost("everything, rows over time included, median", median(times(2)), 2000, " ms", 0),
    ];
  },
};
