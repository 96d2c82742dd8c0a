// Case destinations: what a delivery of 0.1% changed rows writes and takes, against the first delivery, which writes every
// row: `duckmirror deliver` as built, with its processes. Linux only. `--size 1000000`: rows; `--memory 2GB`: the setting.
// BENCH_POSTGRES: address of a Postgres on this machine where the case may make and drop the schema duckmirror_bench;
// BENCH_S3: address of a service that takes any credentials; BENCH_EXTENSIONS: folder with DuckDB's extensions
// (docs/DUCKLAKE.md); without, DuckDB installs them.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import type { BenchCase, Figure } from "./case.ts";
import { asked, fill, record, scattered } from "./many-signals.ts";
import { options } from "./options.ts";
import { cpuOfTree, runTree } from "./process-tree.ts";

const { size: ROWS = 1_000_000, memory: MEMORY } = options;
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
  /** Absent: what the deliveries say. */
  readonly written?: () => Promise<number>;
  /** Process of the server. */
  readonly server?: number;
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
  const { rows: lines } = await client.query("SELECT pg_read_file('postmaster.pid') AS pid");
  return {
    name: "postgres",
    setting: { kind: "postgres", url, schema: SCHEMA },
    server: Number.parseInt(String(lines[0]?.pid), 10),
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

const AWS_ENV = { AWS_ACCESS_KEY_ID: "bench", AWS_SECRET_ACCESS_KEY: "bench", AWS_EC2_METADATA_DISABLED: "true" };

const inBucket = async (endpoint: string): Promise<Target> => {
  const { S3Client, CreateBucketCommand } = await import("@aws-sdk/client-s3");
  const credentials = { accessKeyId: "bench", secretAccessKey: "bench" };
  const client = new S3Client({ endpoint, credentials, region: "us-east-1", forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "duckmirror-bench" }));
  const url = `s3://duckmirror-bench/${process.pid}`;
  const setting = { kind: "parquet", url, endpoint, path_style: true };
  return { name: "parquet, a bucket", setting, close: async () => client.destroy() };
};

const targets = async (): Promise<readonly Target[]> => {
  const { BENCH_POSTGRES: url, BENCH_S3: endpoint } = process.env;
  if (url === undefined) process.stderr.write("without BENCH_POSTGRES, kind postgres is not measured\n");
  if (endpoint === undefined) process.stderr.write("without BENCH_S3, no bucket is measured\n");
  return [
    inFolder("parquet, a folder", (folder) => ({ kind: "parquet", url: join(folder, "set") })),
    ...(endpoint === undefined ? [] : [await inBucket(endpoint)]),
    inFolder("ducklake, catalog in SQLite", (folder) => ({
      kind: "ducklake",
      url: `ducklake:sqlite:${join(folder, "catalog.sqlite")}`,
      ...extensions(),
    })),
    ...(url === undefined ? [] : [await inPostgres(url)]),
  ];
};

const reportSchema = z.object({
  destinations: z.tuple([
    z.object({ bytes: z.number().nullable(), tables: z.array(z.object({ table: z.string(), written: z.number() })) }),
  ]),
});

/** Runs `duckmirror deliver`. */
const deliver = async (dataDir: string, { setting }: Target) => {
  const env = {
    ...AWS_ENV,
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_DESTINATIONS: JSON.stringify([{ name: "bench", ...setting }]),
    DUCKMIRROR_MEMORY: MEMORY,
  };
  const program = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
  const run = await runTree([program, "deliver", "--json", "--quiet"], env, dataDir);
  const [delivered] = reportSchema.parse(JSON.parse(run.out)).destinations;
  return { ...run, ...delivered };
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

interface Measured {
  readonly ms: number;
  readonly bytes: number;
  readonly cpuMs: number;
  readonly peakMib: number;
  /** Processor time of the server; null: it was not read. */
  readonly serverMs: number | null;
}

const MIB = 2 ** 20;
const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const text = ({ ms, bytes, cpuMs, peakMib, serverMs }: Measured) => {
  const server = serverMs === null ? "" : ` (server ${inSeconds(serverMs)})`;
  const work = `${inSeconds(cpuMs)} of processor time${server}, ${peakMib.toFixed(0)} MiB of memory`;
  return `${inSeconds(ms)}, ${(bytes / MIB).toFixed(1)} MiB, ${work}`;
};

const measured = async (dataDir: string, target: Target, rows: number): Promise<Measured> => {
  const { written = async () => 0, server } = target;
  const busy = () => (server === undefined ? null : cpuOfTree(server));
  const [before, busyBefore] = [await written(), busy()];
  const { tables, ms, cpuMs, peakMib, bytes } = await deliver(dataDir, target);
  const found = tables.find(({ table }) => table === "signals")?.written;
  // Kind parquet writes whole parts.
  if (found === undefined || found < rows) throw new TypeError(`${found} of ${rows} rows delivered`);
  const serverMs = busyBefore === null ? null : (busy() ?? 0) - busyBefore;
  const total = target.written === undefined ? (bytes ?? 0) : (await written()) - before;
  return { ms, cpuMs, peakMib, serverMs, bytes: total };
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
    const first = new Map<Target, Measured>();
    for (const target of all) {
      const found = await measured(dataDir, target, ROWS);
      first.set(target, found);
      note(`${target.name}: first delivery, every row`, text(found));
    }
    for (const [spread, ids] of Object.entries(SPREADS)) {
      await change(dataDir, ids);
      for (const target of all) {
        const found = await measured(dataDir, target, CHANGED);
        const whole = first.get(target) ?? found;
        const share = (of: "bytes" | "cpuMs") => `${((found[of] / whole[of]) * 100).toFixed(1)}%`;
        const shares = `${share("bytes")} of the bytes, ${share("cpuMs")} of the processor time`;
        note(`${target.name}: 0.1% changed, ${spread}`, `${text(found)}: ${shares}`);
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
  title: `Deliveries of ${CHANGED.toLocaleString("en")} changed signals of ${ROWS.toLocaleString("en")}, against the first delivery, memory ${MEMORY}`,
  onlyNamed: true,
  run,
};
