// DuckDB's own way from recorded bodies into the tables: what a mirror is measured against. It does nothing else: no
// request, no archive, no check of a record, no ledger.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { StreamName } from "../src/catalog/streams.ts";
import { tableSpec } from "../src/catalog/tables.ts";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { migrate } from "../src/warehouse/file/migrate.ts";
import type { Recording } from "./recorded-service.ts";

const TABLES = {
  accounts: /^\/v1\/accounts\?/,
  contacts: /^\/v1\/contacts\?/,
  signals: /^\/v1\/signals\?/,
  news_articles: /\/news-articles\?/,
  job_openings: /\/job-openings\?/,
  earnings_calls: /\/earnings-calls\?/,
  filings: /\/filings\?/,
} as const satisfies Partial<Record<StreamName, RegExp>>;
export type ListTable = keyof typeof TABLES;
export const ORGANIZATION: readonly ListTable[] = ["accounts", "contacts", "signals"];
export const EVERY: readonly ListTable[] = [
  ...ORGANIZATION,
  "news_articles",
  "job_openings",
  "earnings_calls",
  "filings",
];

const quoted = (name: string) => `"${name}"`;
const bodiesFile = (dir: string, table: ListTable) => join(dir, `${table}.ndjson`);

const readJsonSql = (table: ListTable, file: string): string => {
  const { fields } = tableSpec(table);
  const record = fields.map(({ name, columnType }) => `${quoted(name)} ${columnType}`).join(", ");
  const values = fields.map(({ name }) => `r.${quoted(name)}`).join(", ");
  return `INSERT INTO main.${table} (${fields.map(({ column }) => quoted(column)).join(", ")}, _first_synced_at, _synced_at, _run_id)
    SELECT ${values}, now(), now(), 'bench' FROM (SELECT unnest(data) AS r FROM read_json('${file}',
      format = 'newline_delimited', maximum_object_size = 67108864, columns = {data: 'STRUCT(${record})[]'}))`;
};

/** A page without the form of its request: a list may be asked for its first page twice, the second time with names of fields. */
const pageOf = (url: string): string => {
  const [path, query] = url.split("?");
  return `${path}?page=${new URLSearchParams(query).get("page")}`;
};

const page = z.looseObject({ data: z.array(z.looseObject({ id: z.union([z.string(), z.number()]) })) });

/** Pages by address, without records that an earlier page of their list holds: pages overlap, and DuckDB is given each record once. */
const withoutRepeats = (pages: ReadonlyMap<string, string>): string[] => {
  const seen = new Set<string>();
  return [...pages].map(([address, body]) => {
    const [list] = address.split("?");
    const { data, ...rest } = page.parse(JSON.parse(body));
    const fresh = data.filter(({ id }) => !seen.has(`${list} ${id}`));
    for (const { id } of fresh) seen.add(`${list} ${id}`);
    return fresh.length === data.length ? body : JSON.stringify({ ...rest, data: fresh });
  });
};

/** Writes the recorded bodies of each list to a file of `dir`, one per line, each page and each record once. */
export const writeBodies = async (recording: Recording, tables: readonly ListTable[], dir: string): Promise<void> => {
  for (const table of tables) {
    const bodies = [...recording].filter(([url, { status }]) => status === 200 && TABLES[table].test(url));
    const pages = new Map(bodies.map(([url, { body }]) => [pageOf(url), body]));
    await writeFile(
      bodiesFile(dir, table),
      withoutRepeats(pages)
        .map((body) => `${body}\n`)
        .join(""),
    );
  }
};

/** What a piece of work took: seconds by the clock, and of processor time in all threads. */
export interface Effort {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export const effortOf = async (work: () => Promise<unknown>): Promise<Effort> => {
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6 };
};

/** What DuckDB takes to load the bodies into the new file `name`, its tables made already, everything durable. */
export const loadByDuckDb = async (dir: string, tables: readonly ListTable[], name: string): Promise<Effort> => {
  // Said here, so that the measure stays the same: a second thread mostly polls, and would flatter the mirror.
  const database = await openDatabase(join(dir, name), { threads: 1 });
  try {
    await migrate(database, Date.now());
    return await effortOf(async () => {
      for (const table of tables) await database.run(readJsonSql(table, bodiesFile(dir, table)));
      await database.flushWal();
    });
  } finally {
    await database.close();
  }
};
