// Exports the published snapshot as Parquet, CSV or NDJSON. Writes only files whose rows changed and replaces the set
// as a whole (swap.ts). Reads the snapshot only, so a sync may run at the same time.

import { existsSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { makeFolders } from "../../core/files/own-files.ts";
import { unwritable } from "../../core/state/shared-file.ts";
import { flushToDisk } from "../../core/system.ts";
import type { Database } from "../duckdb/database.ts";
import { lockError, statementError } from "../duckdb/duck-errors.ts";
import { instant } from "../duckdb/statements.ts";
import { takeWriterLock } from "../file/working-file.ts";
import { type Manifest, type ManifestEntry, type Part, partsOf, readManifest } from "./manifest.ts";
import { modesOf, recoverSwap, stagingDir, swapIn } from "./swap.ts";
import { type ExportFormat, exportTables } from "./tables.ts";
import { eachPart, lastRun, openForParts, type PartStyle, writePart } from "./write-parts.ts";

export interface ExportRequest {
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
  readonly memory?: MemoryPlan;
  readonly signal?: AbortSignal;
  /** Called when the folder is accepted, before a row is written into it. */
  readonly onAccepted?: () => Promise<void>;
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

const sameSet = (before: Manifest | null, request: ExportRequest, since: string | null): Manifest | null => {
  if (before === null) return null;
  const refuse = (detail: string) => new DuckmirrorError("EXPORT_FOLDER", { dir: request.dir, detail });
  if (before.format !== request.format) throw refuse(`it holds an export as ${before.format}`);
  if ((before.since === null) !== (since === null)) {
    throw refuse(before.since === null ? "it holds an export of all rows" : "it holds an export with --since");
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
  const known = before?.tables ?? [];
  const wanted = exportTables(request.tables, known);
  // A spreadsheet opens one file.
  const tables = request.format === "csv" ? wanted.map((table) => ({ ...table, monthOf: null })) : wanted;
  const timeless = tables.find(({ changedAt }) => changedAt === null);
  if (since !== null && timeless !== undefined) {
    throw new DuckmirrorError("USAGE", { detail: `--since: ${timeless.label} does not say when a row changed` });
  }
  const run = await lastRun(database);
  await request.onAccepted?.();

  const mode = modesOf(dir).file;
  const staging = stagingDir(dir);
  // Fails where somebody made one meanwhile.
  await mkdir(staging, { mode: 0o700 });
  const others = (before?.files ?? []).filter(({ table }) => !tables.some(({ label }) => label === table));
  const parts: Part[] = [];
  for (const table of tables) parts.push(...(await partsOf(database, table, request, instant(request.since))));
  const entries = new Map<Part, ManifestEntry>();
  const changed: Part[] = [];
  for (const part of parts) {
    const old = before?.files.find(({ file }) => file === part.file);
    const size = statSync(join(dir, part.file), { throwIfNoEntry: false })?.size;
    if (old !== undefined && old.fingerprint === part.fingerprint && old.bytes === size) entries.set(part, old);
    else changed.push(part);
  }
  const moves = changed.map(({ file }, index) => ({ from: `${index}.part`, to: file }));
  const style: PartStyle = { format, guardFormulas: request.guardFormulas, since: instant(request.since) };
  await eachPart(database, changed, async (part, index) => {
    signal?.throwIfAborted();
    const target = join(staging, `${index}.part`);
    const written = await writePart(database, part, target, style, mode);
    await flushToDisk(target);
    const { table, file, partition, rows, fingerprint } = part;
    entries.set(part, { file, table: table.label, partition, rows, ...written, run, fingerprint });
  });
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

/** Runs `work` while no other export uses the folder. Throws WRITER_BUSY, DATA_DIR_UNWRITABLE. */
const alone = async <T>(dir: string, work: () => Promise<T>): Promise<T> => {
  const lockFile = join(dir, ".lock");
  const lock = await takeWriterLock(lockFile, dir).catch((error: unknown) => {
    throw lockError(error, lockFile, dir);
  });
  try {
    return await work();
  } finally {
    await lock.release();
  }
};

/** Finishes or removes what a killed export left in the folder. Throws WRITER_BUSY when an export uses it. */
export const settleExport = async (dir: string): Promise<void> => {
  if (existsSync(stagingDir(dir))) await alone(dir, () => recoverSwap(dir));
};

/**
 * Brings the folder up to date with the snapshot. Throws WRITER_BUSY when another export uses the folder,
 * SNAPSHOT_MISSING, USAGE, EXPORT_FOLDER, DATA_DIR_UNWRITABLE or DISK_FULL; after an error the folder holds the
 * previous set.
 */
export const exportSnapshot = async (request: ExportRequest): Promise<ExportReport> => {
  const { snapshot, dir, memory } = request;
  const database = await openForParts(snapshot, dir, { spill: ".staging/spill", memory });
  try {
    try {
      makeFolders(dir, 0o700);
    } catch (error) {
      throw unwritable(dir, error);
    }
    return await alone(dir, async () => {
      try {
        return await exportFrom(database, request);
      } catch (error) {
        // A complete staged set is still moved into place. If that fails, the next export tries again.
        await recoverSwap(dir).catch(() => undefined);
        throw statementError(error);
      }
    });
  } finally {
    await database.close();
  }
};
