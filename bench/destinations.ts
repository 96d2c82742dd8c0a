// Case destinations: what a delivery of 0.1% changed rows writes and takes, against the first delivery, which writes every
// row. `--size 1000000`: rows. BENCH_POSTGRES: address of a Postgres where the case may make and drop the schema
// duckmirror_bench; BENCH_EXTENSIONS: folder with DuckDB's extensions (docs/DUCKLAKE.md); without, DuckDB installs them.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deliverJob } from "../jobs/deliver.ts";
import { vocabulary } from "../src/catalog/vocabulary.ts";
import { systemClock } from "../src/core/clock.ts";
import { resolveConfig } from "../src/core/config/config.ts";
import type { Delivered } from "../src/deliver/destination.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import type { BenchCase, Figure } from "./case.ts";
import { asked, fill, record, scattered } from "./many-signals.ts";

const ROWS = process.argv.includes("--size") ? Number(process.argv[process.argv.indexOf("--size") + 1]) : 1_000_000;
const CHANGED = Math.round(ROWS / 1_000);
/** The changed rows are the newest ones, or from all months. */
const SPREADS = {
  newest: Array.from({ length: CHANGED }, (_, index) => ROWS - 1 - index),
  scattered: scattered(ROWS, 0, CHANGED),
};
const SCHEMA = "duckmirror_bench";

/** A destination, and how many bytes it has written since it was made. */
interface Target {
  readonly name: string;
  readonly setting: Readonly<Record<string, unknown>>;
  readonly written: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Counts each file once under its name, and anew when its size differs: files of lakes and sets are never changed. */
const countFiles = (folder: string) => {
  const sizes = new Map<string, number>();
  let total = 0;
  return async (): Promise<number> => {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const { size } = statSync(path);
      if (sizes.get(path) !== size) total += size;
      sizes.set(path, size);
    }
    return total;
  };
};

const inFolder = (name: string, setting: (folder: string) => Readonly<Record<string, unknown>>): Target => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-bench-destination-"));
  const close = async () => rmSync(folder, { recursive: true, force: true });
  return { name, setting: setting(folder), written: countFiles(folder), close };
};

const extensions = () => {
  const { BENCH_EXTENSIONS: folder } = process.env;
  return folder === undefined ? {} : { extension_directory: folder };
};

const inPostgres = async (url: string): Promise<Target> => {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const drop = () => client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
  await drop();
  return {
    name: "postgres",
    setting: { kind: "postgres", url, schema: SCHEMA },
    // What the server wrote to its log, which holds every change of tables and indexes.
    written: async () => {
      const { rows } = await client.query("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes");
      return Number(rows[0]?.bytes);
    },
    close: async () => {
      await drop();
      await client.end();
    },
  };
};

const targets = async (): Promise<readonly Target[]> => {
  const { BENCH_POSTGRES: url } = process.env;
  if (url === undefined) process.stderr.write("without BENCH_POSTGRES, kind postgres is not measured\n");
  return [
    inFolder("parquet, a folder", (folder) => ({ kind: "parquet", url: join(folder, "set") })),
    inFolder("ducklake, catalog in SQLite", (folder) => ({
      kind: "ducklake",
      url: `ducklake:sqlite:${join(folder, "catalog.sqlite")}`,
      ...extensions(),
    })),
    ...(url === undefined ? [] : [await inPostgres(url)]),
  ];
};

const deliver = async (dataDir: string, { name, setting }: Target): Promise<Delivered> => {
  const config = resolveConfig({
    flags: {},
    env: { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: JSON.stringify([{ name: "bench", ...setting }]) },
    file: null,
    cwd: dataDir,
    vocabulary: vocabulary(),
  });
  const context = { clock: systemClock, signal: new AbortController().signal };
  const [report] = await deliverJob(config, { names: [], takeOver: false }, context);
  if (report?.delivered) return report.delivered;
  throw report?.error ?? new TypeError(`nothing was delivered to ${name}`);
};

let requests = 0;

/** Changes these signals and publishes. */
const change = async (dataDir: string, ids: readonly number[]): Promise<void> => {
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  try {
    const version = ++requests;
    const records = ids.map((id) => record(id, version));
    const load = { stream: "signals", table: "signals", records, asked, fromPath: {}, walkId: null } as const;
    const loads = [{ ...load, requestId: `q${version}`, receivedAt: Date.now() }];
    await warehouse.commit({ runId: "bench", loads, requests: [], scopes: [], quota: null });
    await warehouse.publish();
  } finally {
    await warehouse.close();
  }
};

const MIB = 2 ** 20;
const text = (ms: number, bytes: number) => `${(ms / 1000).toFixed(1)} s, ${(bytes / MIB).toFixed(1)} MiB`;

/** A delivery's time and bytes. */
const measured = async (dataDir: string, target: Target, rows: number) => {
  const before = await target.written();
  const start = performance.now();
  const { tables } = await deliver(dataDir, target);
  const ms = performance.now() - start;
  const found = tables.find(({ table }) => table === "signals")?.written;
  // Kind parquet writes whole parts.
  if (found === undefined || found < rows) throw new TypeError(`${found} of ${rows} rows delivered`);
  return { ms, bytes: (await target.written()) - before };
};

const run = async (): Promise<readonly Figure[]> => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-bench-deliver-"));
  const all = await targets();
  const figures: Figure[] = [];
  const note = (measure: string, value: string) => {
    process.stderr.write(`${measure}: ${value}\n`);
    figures.push({ measure, value, aim: "", reached: null });
  };
  try {
    const warehouse = await openWarehouse({ dataDir, clock: systemClock });
    await fill(warehouse, ROWS);
    await warehouse.publish();
    await warehouse.close();
    const first = new Map<Target, { readonly ms: number; readonly bytes: number }>();
    for (const target of all) {
      const found = await measured(dataDir, target, ROWS);
      first.set(target, found);
      note(`${target.name}: first delivery, every row`, text(found.ms, found.bytes));
    }
    for (const [spread, ids] of Object.entries(SPREADS)) {
      await change(dataDir, ids);
      for (const target of all) {
        const { ms, bytes } = await measured(dataDir, target, CHANGED);
        const whole = first.get(target) ?? { ms, bytes };
        const share = `${((bytes / whole.bytes) * 100).toFixed(1)}% of the bytes, ${((ms / whole.ms) * 100).toFixed(0)}% of the time`;
        note(`${target.name}: 0.1% changed, ${spread}`, `${text(ms, bytes)}: ${share}`);
      }
    }
    return figures;
  } finally {
    for (const target of all) await target.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

export const destinations: BenchCase = {
  id: "destinations",
  title: `Deliveries of ${CHANGED.toLocaleString("en")} changed signals of ${ROWS.toLocaleString("en")}, against the first delivery`,
  onlyNamed: true,
  run,
};
