// Case export: a Parquet set of the whole mirror against DuckDB's plain COPY of the same tables, and what a change costs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, openDatabase } from "../src/warehouse/duckdb/database.ts";
import { exportSnapshot } from "../src/warehouse/export/export.ts";
import { migrate } from "../src/warehouse/file/migrate.ts";
import { atMost, type BenchCase, type Figure, ofRounds } from "./case.ts";

const ROUNDS = 5;
const SIGNALS = 1_000_000;
const CONTACTS = 200_000;
const TABLES = ["signals", "contacts"] as const;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const withDatabase = async (file: string, readOnly: boolean, work: (database: Database) => Promise<unknown>) => {
  const database = await openDatabase(file, { readOnly });
  try {
    await work(database);
  } finally {
    await database.close();
  }
};

/** Two years of events whose ids grow with time, and people. */
const fill = (file: string) =>
  withDatabase(file, false, async (database) => {
    await migrate(database, 0);
    await database.run(`INSERT INTO main.signals
      (id, account_id, type, headline, description, date, created_at, updated_at, _synced_at, _run_id)
      SELECT i, hash(i) % 5000, 'podcast', md5(i::VARCHAR), repeat(md5((i * 7)::VARCHAR), 8),
        TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_seconds(CAST(i * (63072000 / ${SIGNALS}) AS BIGINT)), now(), now(), now(), 'r1'
      FROM range(${SIGNALS}) t(i)`);
    await database.run(`INSERT INTO main.contacts (id, account_id, first_name, last_name, email, _synced_at, _run_id)
      SELECT md5(i::VARCHAR), hash(i) % 5000, 'Zoë', md5((i * 3)::VARCHAR), repeat(md5((i * 5)::VARCHAR), 2), now(), 'r1'
      FROM range(${CONTACTS}) t(i)`);
  });

const plainCopy = (snapshot: string, dir: string, order: boolean) =>
  withDatabase(snapshot, true, async (database) => {
    const orders = { signals: "account_id, date, id", contacts: "account_id, id" };
    for (const table of TABLES) {
      const sorted = order ? ` ORDER BY ${orders[table]}` : "";
      const options = "FORMAT parquet, COMPRESSION zstd";
      await database.run(
        `COPY (SELECT * FROM main.${table}${sorted}) TO '${join(dir, `${table}.parquet`)}' (${options})`,
      );
    }
  });

export const exports: BenchCase = {
  id: "export",
  title: `Export of ${SIGNALS} signals and ${CONTACTS} contacts as Parquet, medians of ${ROUNDS} rounds in turns, least to most`,
  run: async (): Promise<readonly Figure[]> => {
    const dir = mkdtempSync(join(tmpdir(), "duckmirror-bench-export-"));
    try {
      const snapshot = join(dir, "warehouse.duckdb");
      await fill(snapshot);
      const write = (folder: string) =>
        exportSnapshot({
          snapshot,
          dir: join(dir, folder),
          format: "parquet",
          tables: TABLES,
          since: null,
          guardFormulas: false,
        });
      const sorted: number[] = [];
      const unsorted: number[] = [];
      const unchanged: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const whole = await timed(() => write(`set-${round}`));
        sorted.push(whole / (await timed(() => plainCopy(snapshot, dir, true))));
        unsorted.push(whole / (await timed(() => plainCopy(snapshot, dir, false))));
        unchanged.push((await timed(() => write(`set-${round}`))) / whole);
      }
      await withDatabase(snapshot, false, (database) =>
        database.run(
          `UPDATE main.signals SET headline = 'new', _synced_at = now(), _run_id = 'r2' WHERE id >= ${SIGNALS * 0.999}`,
        ),
      );
      const { bytes, bytesWritten } = await write("set-0");
      return [
        ofRounds("first export, of COPY of the same rows in the same order", sorted, { most: 1.1 }),
        ofRounds("first export, of COPY of the rows as they lie", unsorted),
        ofRounds("export when nothing changed, of the first", unchanged),
        atMost("0.1% changed, the newest: bytes rewritten", (100 * bytesWritten) / bytes, 5, "%"),
      ];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};
