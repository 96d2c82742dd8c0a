// Writes parts of an export from a snapshot: large ones one after another, small ones side by side.

import { chmodSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { snapshotError } from "../duckdb/duck-errors.ts";
import { createLanes } from "../duckdb/gate.ts";
import { numberOf, sqlText, textsOf } from "../duckdb/sql-files.ts";
import type { SqlValue } from "../duckdb/statements.ts";
import { digestOf } from "../file/baseline/baseline.ts";
import { assertOwnSnapshot } from "../user-sql/trusted-files.ts";
import type { Part } from "./manifest.ts";
import { copySql, type ExportFormat } from "./tables.ts";

/**
 * Files with more rows are written one after another with all of DuckDB's threads. Smaller files are written
 * concurrently with one thread each, because an idle second thread of a statement wastes processor time by polling.
 */
const LARGE_PART_ROWS = 500_000;
/** One more than the number of cores, since a worker computing a checksum leaves its core partly idle. */
const SMALL_AT_ONCE = availableParallelism() + 1;

export interface PartStyle {
  readonly format: ExportFormat;
  readonly guardFormulas: boolean;
  /** Only rows that changed since then; null: all. */
  readonly since: SqlValue;
}

export const WHOLE_PARQUET: PartStyle = { format: "parquet", guardFormulas: false, since: null };

/**
 * Opens a snapshot that may read and write only below `dir`; `spill`: folder in it for what memory does not hold.
 * Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, DATA_DIR_UNWRITABLE or DISK_FULL.
 */
export const openForParts = async (
  snapshot: string,
  dir: string,
  options: { readonly spill: string; readonly memory?: MemoryPlan | undefined },
): Promise<Database> => {
  const { spill, memory } = options;
  await assertOwnSnapshot(snapshot);
  return openDatabase(snapshot, {
    readOnly: true,
    tempDir: join(dir, spill),
    onlyFolder: resolve(dir),
    // Sorting a large table in little memory spills; so start with the highest limit.
    ...(memory === undefined ? {} : { memory: { ...memory, startBytes: memory.ceilingBytes } }),
  }).catch((error: unknown) => {
    throw snapshotError(error, snapshot, dir);
  });
};

/** Id of the last run in the snapshot; null: no run. */
export const lastRun = async (database: Database): Promise<string | null> =>
  (await textsOf(database, sqlText("warehouse/last-run.sql")))[0] ?? null;

/** Writes one part to `target`. Returns its size and checksum. `since`, format: `style`; permissions: `mode`. */
export const writePart = async (database: Database, part: Part, target: string, style: PartStyle, mode: number) => {
  const { table, columns, partition, rows } = part;
  // A query, not a statement of the writers' queue, so that parts are written concurrently.
  const sql = copySql(table, columns, { month: partition }, style);
  const copied = await numberOf(database, sql, [style.since, target]);
  if (copied !== rows) {
    const detail = `${part.file}: ${copied} rows written, ${rows} counted`;
    throw new DuckmirrorError("UNEXPECTED", { detail });
  }
  chmodSync(target, mode);
  return { bytes: statSync(target).size, sha256: await digestOf(target) };
};

/**
 * Runs `work` for each part. After a failure it starts no other, waits for those under way, so that nothing writes
 * afterwards, and throws the failure. Statements use one thread each from the first small part on.
 */
export const eachPart = async (
  database: Database,
  parts: readonly Part[],
  work: (part: Part, index: number) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  const attempt = async (part: Part): Promise<void> => {
    if (failures.length > 0) return;
    await work(part, parts.indexOf(part)).catch((error: unknown) => void failures.push(error));
  };
  for (const part of parts.filter(({ rows }) => rows > LARGE_PART_ROWS)) await attempt(part);
  await database.run("SET GLOBAL threads TO 1");
  const sideBySide = createLanes(SMALL_AT_ONCE);
  const small = parts.filter(({ rows }) => rows <= LARGE_PART_ROWS);
  await Promise.all(small.map((part) => sideBySide(() => attempt(part))));
  if (failures.length > 0) throw failures[0];
};
