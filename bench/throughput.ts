// Case throughput: time of a first mirror without rate limit (new warehouse, requests, archive, load, publish) against
// DuckDB's own read_json of the same bodies into the same tables, which does nothing else. The service answers from
// memory, the two take turns, the median of the ratios counts.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StreamName } from "../src/catalog/streams.ts";
import { tableSpec } from "../src/catalog/tables.ts";
import { openDatabase } from "../src/warehouse/database.ts";
import { migrate } from "../src/warehouse/migrate.ts";
import { type BenchCase, type Figure, median, ratio } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { type Recording, record, serveRecording } from "./recorded-service.ts";

const ROUNDS = 5;

const TABLES = {
  accounts: /^\/v1\/accounts\?/,
  contacts: /^\/v1\/contacts\?/,
  signals: /^\/v1\/signals\?/,
  news_articles: /\/news-articles\?/,
  job_openings: /\/job-openings\?/,
  earnings_calls: /\/earnings-calls\?/,
  filings: /\/filings\?/,
} as const satisfies Partial<Record<StreamName, RegExp>>;
type ListTable = keyof typeof TABLES;
const ORGANIZATION: readonly ListTable[] = ["accounts", "contacts", "signals"];
const EVERY: readonly ListTable[] = [...ORGANIZATION, "news_articles", "job_openings", "earnings_calls", "filings"];

const quoted = (name: string) => `"${name}"`;

/** DuckDB's own way from the bodies of one list into its table. */
const readJsonSql = (table: ListTable, file: string): string => {
  const { fields } = tableSpec(table);
  const record = fields.map(({ name, columnType }) => `${quoted(name)} ${columnType}`).join(", ");
  const values = fields.map(({ name }) => `r.${quoted(name)}`).join(", ");
  return `INSERT INTO main.${table} (${fields.map(({ column }) => quoted(column)).join(", ")}, _first_synced_at, _synced_at, _run_id)
    SELECT ${values}, now(), now(), 'bench' FROM (SELECT unnest(data) AS r FROM read_json('${file}',
      format = 'newline_delimited', maximum_object_size = 67108864, columns = {data: 'STRUCT(${record})[]'}))`;
};

/** Writes the recorded bodies of each list to a file, one per line. */
const writeBodies = async (recording: Recording, tables: readonly ListTable[], dir: string) => {
  for (const table of tables) {
    const bodies = [...recording].filter(([url, { status }]) => status === 200 && TABLES[table].test(url));
    await writeFile(join(dir, `${table}.ndjson`), bodies.map(([, { body }]) => `${body}\n`).join(""));
  }
};

/** Seconds that DuckDB takes to load the bodies into an empty warehouse; the tables exist already. */
const loadByDuckDb = async (dir: string, tables: readonly ListTable[], round: number): Promise<number> => {
  const database = await openDatabase(join(dir, `plain-${round}.duckdb`));
  try {
    await migrate(database, Date.now());
    const start = performance.now();
    for (const table of tables) await database.run(readJsonSql(table, join(dir, `${table}.ndjson`)));
    await database.flushWal();
    return (performance.now() - start) / 1000;
  } finally {
    await database.close();
  }
};

const compare = async (what: string, accounts: number, maxPerPage: number, tables: readonly ListTable[]) => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-throughput-"));
  const source = await startBenchMirror({ accounts, seed: 10, maxPerPage });
  try {
    const recording = record(source.sandbox);
    const first = await source.sync({ streams: tables });
    const rows = first.streams.filter(({ stream }) => tables.some((table) => table === stream));
    const total = rows.reduce((sum, { inserted }) => sum + inserted, 0);
    await writeBodies(recording, tables, dir);
    const service = await serveRecording(recording);
    const pairs: { readonly mirror: number; readonly plain: number }[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const dataDir = join(dir, `mirror-${round}`);
        const start = performance.now();
        await source.sync({ streams: tables }, { DUCKMIRROR_BASE_URL: service.url, DUCKMIRROR_DATA_DIR: dataDir });
        const mirror = (performance.now() - start) / 1000;
        pairs.push({ mirror, plain: await loadByDuckDb(dir, tables, round) });
      }
    } finally {
      await service.close();
    }
    const requests = first.streams.reduce((sum, stream) => sum + stream.requests, 0);
    const label = `${what}, ${total} rows in ${requests} requests: time of a whole sync, of read_json alone`;
    return ratio(label, median(pairs.map(({ mirror, plain }) => mirror / plain)));
  } finally {
    await source.close();
    await rm(dir, { recursive: true, force: true });
  }
};

export const throughput: BenchCase = {
  id: "throughput",
  title: `First mirror without a rate limit against DuckDB's read_json of the same bodies, medians of ${ROUNDS} rounds`,
  run: async (): Promise<readonly Figure[]> => [
    await compare("organization lists, 1000 rows a page", 400, 1000, ORGANIZATION),
    await compare("every list, 100 rows a page", 150, 100, EVERY),
  ],
};
