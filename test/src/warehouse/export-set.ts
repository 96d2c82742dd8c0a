// Small snapshots to export, and what stands in an export folder.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { z } from "zod";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { type ExportRequest, exportSnapshot } from "../../../src/warehouse/export/export.ts";
import { type Manifest, readManifest } from "../../../src/warehouse/export/manifest.ts";
import { noteOwn } from "../../../src/warehouse/user-sql/trusted-files.ts";
import { copyMigratedFile } from "../../support/migrated-mirror.ts";
import { tempDir } from "./temp-dir.ts";

export interface ExportSet {
  readonly dir: string;
  readonly snapshot: string;
  /** Changes the snapshot. */
  change(sql: string): Promise<void>;
  run(more?: Partial<ExportRequest>): ReturnType<typeof exportSnapshot>;
  manifest(dir?: string): Promise<Manifest>;
  /** Rows of a query on the snapshot. */
  rows<T>(sql: string, row: z.ZodType<T>): Promise<T[]>;
}

const using = async <T>(file: string, work: (database: Database) => Promise<T>): Promise<T> => {
  const database = await openDatabase(file, { threads: 1 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
};

/** `isOwn`: duckmirror published the snapshot; any other is inspected before each export. */
export const anExport = async (sql: string, isOwn = true): Promise<ExportSet> => {
  const root = tempDir();
  const snapshot = join(root, "warehouse.duckdb");
  const dir = join(root, "export");
  await copyMigratedFile(snapshot);
  const change = async (statements: string) => {
    await using(snapshot, (database) => database.run(statements));
    if (isOwn) await noteOwn(snapshot);
  };
  await change(sql);
  return {
    dir,
    snapshot,
    change,
    run: (more = {}) =>
      exportSnapshot({ snapshot, dir, format: "parquet", tables: [], since: null, guardFormulas: false, ...more }),
    manifest: async (at = dir) => {
      const found = await readManifest(at);
      if (found === null) throw new Error(`${at} has no manifest`);
      return found;
    },
    rows: (query, row) => using(snapshot, (database) => database.query(query, [], row)),
  };
};

const isGone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

/** Entries of a folder; none if an export has just removed it. */
const entriesOf = (dir: string) => {
  try {
    return readdirSync(dir, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
};

const filesBelow = (dir: string): readonly string[] =>
  entriesOf(dir)
    .filter((entry) => !entry.name.startsWith(".") && entry.name !== "_manifest.json")
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(dir, entry.name)) : [join(dir, entry.name)]));

/** Data files below a folder, relative, sorted; hidden ones, and what hidden folders hold, aside. */
export const filesIn = (dir: string): readonly string[] =>
  filesBelow(dir)
    .map((file) => file.slice(dir.length + 1))
    .sort();

export const sha256 = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

/** Rows of Parquet files, read by DuckDB. */
export const readParquet = async <T>(sql: string, row: z.ZodType<T>): Promise<T[]> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  onTestFinished(() => database.close());
  return database.query(sql, [], row);
};

/** Signals: id → date. */
export const someSignals = (dates: Readonly<Record<number, string | null>>): string =>
  `INSERT INTO main.signals (id, account_id, headline, date, _synced_at, _run_id) VALUES ${Object.entries(dates)
    .map(
      ([id, date]) =>
        `(${id}, ${Number(id) % 3}, 'Signal ${id}', ${date === null ? "NULL" : `'${date}'`}, '2025-06-01', 'r1')`,
    )
    .join(", ")};`;
