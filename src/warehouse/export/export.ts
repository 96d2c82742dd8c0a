// Exports the published snapshot as Parquet, CSV or NDJSON. Writes only files whose rows changed and replaces the set
// as a whole (swap.ts). Reads the snapshot only, so a sync may run at the same time.
import { createHash } from "node:crypto";
import { chmodSync, createReadStream, mkdirSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { assertOwnFile } from "../../core/own-files.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { openError, statementError } from "../duckdb/duck-errors.ts";
import { instant } from "../duckdb/duck-values.ts";
import { createLanes } from "../duckdb/gate.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { takeWriterLock } from "../file/writer-lock.ts";
import { assertReadable } from "../read/readable.ts";
import { type Manifest, type ManifestEntry, readManifest, tablesOf } from "./manifest.ts";
import { type Part, partsOf } from "./parts.ts";
import { modesOf, recoverSwap, stagingDir, swapIn, syncPath } from "./swap.ts";
import { copySql, type ExportFormat, exportTables } from "./tables.ts";

export interface ExportRequest {
  /** Path of the published snapshot. */
  readonly snapshot: string;
  /** Folder of the set; created if missing. */
  readonly dir: string;
  readonly format: ExportFormat;
  /** Names or schemas; empty: the tables of main, and those in the folder already. */
  readonly tables: readonly string[];
  /** Only rows that changed since then, ms since the epoch; null: all. */
  readonly since: number | null;
  /** CSV: put a quote before cells that a spreadsheet would run as a formula. */
  readonly guardFormulas: boolean;
  /** DuckDB's memory limits. */
  readonly memory?: MemoryPlan;
  readonly signal?: AbortSignal;
}

export interface TableReport {
  readonly table: string;
  readonly files: number;
  readonly written: number;
  readonly rows: number;
  readonly bytes: number;
  readonly bytesWritten: number;
}

export interface ExportReport {
  readonly dir: string;
  readonly format: ExportFormat;
  /** Last run of the mirror in this set. */
  readonly run: string | null;
  readonly tables: readonly TableReport[];
  readonly written: number;
  readonly kept: number;
  readonly removed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly bytesWritten: number;
}

/**
 * Files with more rows are written one after another with all of DuckDB's threads. Smaller files are written
 * concurrently with one thread each, because an idle second thread of a statement wastes processor time by polling.
 */
const LARGE_PART_ROWS = 500_000;
/** One more than the number of cores, since a worker computing a checksum leaves its core partly idle. */
const SMALL_AT_ONCE = availableParallelism() + 1;

const runRow = z.object({ run_id: z.string() });
const copiedRow = z.object({ Count: z.number() });

const sha256Of = async (file: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
};

/** Writes one part durably to `target`. Returns its size and checksum. */
const writePart = async (database: Database, part: Part, target: string, request: ExportRequest, mode: number) => {
  const { table, columns, partition, rows } = part;
  // A query, not a statement of the writers' queue, so that parts are written concurrently.
  const [copied] = await database.query(
    copySql(table, columns, { month: partition }, request),
    [instant(request.since), target],
    copiedRow,
  );
  if (copied?.Count !== rows) {
    const detail = `${part.file}: ${copied?.Count} rows written, ${rows} counted`;
    throw new DuckmirrorError("UNEXPECTED", { detail });
  }
  chmodSync(target, mode);
  await syncPath(target);
  return { bytes: statSync(target).size, sha256: await sha256Of(target) };
};

const sameSet = (before: Manifest | null, request: ExportRequest, since: string | null): Manifest | null => {
  if (before === null) return null;
  const refuse = (detail: string) => new DuckmirrorError("EXPORT_FOLDER", { dir: request.dir, detail });
  if (before.format !== request.format) throw refuse(`it holds ${before.format}`);
  if ((before.since === null) !== (since === null)) {
    throw refuse(before.since === null ? "it holds all rows" : "it holds only rows that changed since some moment");
  }
  return before;
};

const reportOf = (request: ExportRequest, manifest: Manifest, written: ReadonlySet<string>, removed: number) => {
  const tables = manifest.tables.map((table): TableReport => {
    const files = manifest.files.filter((entry) => entry.table === table);
    const fresh = files.filter(({ file }) => written.has(file));
    const sum = (entries: readonly ManifestEntry[], of: "rows" | "bytes") => entries.reduce((all, e) => all + e[of], 0);
    return {
      table,
      files: files.length,
      written: fresh.length,
      rows: sum(files, "rows"),
      bytes: sum(files, "bytes"),
      bytesWritten: sum(fresh, "bytes"),
    };
  });
  const total = (of: "rows" | "bytes" | "bytesWritten") => tables.reduce((all, table) => all + table[of], 0);
  return {
    dir: request.dir,
    format: request.format,
    run: manifest.run,
    tables,
    written: written.size,
    kept: manifest.files.length - written.size,
    removed,
    rows: total("rows"),
    bytes: total("bytes"),
    bytesWritten: total("bytesWritten"),
  };
};

const exportFrom = async (database: Database, request: ExportRequest): Promise<ExportReport> => {
  const { dir, format, signal } = request;
  await recoverSwap(dir);
  const since = request.since === null ? null : new Date(request.since).toISOString();
  const before = sameSet(await readManifest(dir), request, since);
  const known = tablesOf(before);
  const tables = exportTables(request.tables, known);
  const timeless = tables.find(({ changedAt }) => changedAt === null);
  if (since !== null && timeless !== undefined) {
    throw new DuckmirrorError("USAGE", { detail: `--since: ${timeless.label} does not say when a row changed` });
  }
  const [last] = await database.query(sqlText("warehouse/last-run.sql"), [], runRow);
  const run = last?.run_id ?? null;

  const mode = modesOf(dir).file;
  const staging = stagingDir(dir);
  // Fails where somebody made one meanwhile.
  await mkdir(staging, { mode: 0o700 });
  const others = (before?.files ?? []).filter(({ table }) => !tables.some(({ label }) => label === table));
  const parts: Part[] = [];
  for (const table of tables) parts.push(...(await partsOf(database, table, request, instant(request.since))));
  const moves: { from: string; to: string }[] = [];
  const entries = new Map<Part, ManifestEntry>();
  const failures: unknown[] = [];
  const take = async (part: Part): Promise<void> => {
    if (failures.length > 0) return;
    const { table, file, partition, rows, fingerprint } = part;
    const from = `${moves.length}.part`;
    moves.push({ from, to: file });
    try {
      signal?.throwIfAborted();
      const { bytes, sha256 } = await writePart(database, part, join(staging, from), request, mode);
      entries.set(part, { file, table: table.label, partition, rows, bytes, sha256, run, fingerprint });
    } catch (error) {
      failures.push(error);
    }
  };
  const changed: Part[] = [];
  for (const part of parts) {
    const old = before?.files.find(({ file }) => file === part.file);
    const size = statSync(join(dir, part.file), { throwIfNoEntry: false })?.size;
    if (old !== undefined && old.fingerprint === part.fingerprint && old.bytes === size) entries.set(part, old);
    else changed.push(part);
  }
  for (const part of changed.filter(({ rows }) => rows > LARGE_PART_ROWS)) await take(part);
  await database.run("SET GLOBAL threads TO 1");
  const sideBySide = createLanes(SMALL_AT_ONCE);
  const small = changed.filter(({ rows }) => rows <= LARGE_PART_ROWS);
  // Wait for all writes before reporting a failure, so that nothing writes into the folder afterwards.
  await Promise.all(small.map((part) => sideBySide(() => take(part))));
  if (failures.length > 0) throw failures[0];
  const files = [...others, ...parts.flatMap((part) => entries.get(part) ?? [])];
  const labels = [...new Set([...known, ...tables.map(({ label }) => label)])];
  const { guardFormulas } = request;
  const manifest: Manifest = { version: 1, format, since, guardFormulas, run, tables: labels, files };
  const removals = (before?.files ?? [])
    .map(({ file }) => file)
    .filter((old) => !files.some(({ file }) => file === old));
  signal?.throwIfAborted();
  // An export without changes leaves the folder untouched. A file that was missing is a change, though its manifest is not.
  if (moves.length === 0 && JSON.stringify(manifest) === JSON.stringify(before)) await recoverSwap(dir);
  else await swapIn(dir, { manifest, moves, removals });
  return reportOf(request, manifest, new Set(moves.map(({ to }) => to)), removals.length);
};

const openSnapshot = async (request: ExportRequest): Promise<Database> => {
  const { snapshot, dir, memory } = request;
  assertReadable(snapshot);
  const tempDir = join(stagingDir(dir), "spill");
  return openDatabase(snapshot, {
    readOnly: true,
    tempDir,
    onlyFolder: resolve(dir),
    // Sorting a large table in little memory spills; so start with the highest limit.
    ...(memory === undefined ? {} : { memory: { ...memory, startBytes: memory.ceilingBytes } }),
  }).catch((error: unknown) => {
    throw openError(error, snapshot, dir);
  });
};

/**
 * Brings the folder up to date with the snapshot. Throws WRITER_BUSY when another export uses the folder,
 * SNAPSHOT_MISSING, USAGE, EXPORT_FOLDER, DATA_DIR_UNWRITABLE or DISK_FULL; after an error the folder holds the
 * previous set.
 */
export const exportSnapshot = async (request: ExportRequest): Promise<ExportReport> => {
  const { dir } = request;
  const database = await openSnapshot(request);
  try {
    const lockFile = join(dir, ".lock");
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir, detail: detailOf(error) }, { cause: error });
    }
    for (const file of [lockFile, `${lockFile}.wal`]) assertOwnFile(file);
    const lock = await takeWriterLock(lockFile, dir).catch((error: unknown) => {
      throw openError(error, lockFile, dir);
    });
    try {
      return await exportFrom(database, request);
    } catch (error) {
      // A complete staged set is still moved into place. If that fails, the next export tries again.
      await recoverSwap(dir).catch(() => undefined);
      throw statementError(error);
    } finally {
      await lock.release();
    }
  } finally {
    await database.close();
  }
};
