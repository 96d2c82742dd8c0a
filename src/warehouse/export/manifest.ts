// Reads and writes the manifest of an export folder, `_manifest.json`, with one entry per file. It is replaced last, so that every file it
// names exists.

import { createHash } from "node:crypto";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { exportDir } from "../../core/data-dir.ts";
import { DuckmirrorError, detailOf, hasSystemCode } from "../../core/errors.ts";
import { appendOwn, makeOwnFolder, readOwnIfThere } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import type { Database } from "../duckdb/database.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { SqlValue } from "../duckdb/statements.ts";
import { readBegunAt } from "../read/read-run.ts";
import {
  cellsSql,
  EXPORT_FORMATS,
  type ExportColumn,
  type ExportFormat,
  type ExportTable,
  fingerprintSql,
} from "./tables.ts";

// The files of an export: the rows of each, and a fingerprint that shows whether an existing file holds them already. And the folders that
// may hold exports, which `forget` must search.

// Export folders that a user named. They are remembered because `forget` must erase people from them too.

const entry = z.object({ dir: z.string() });
const registry = (dataDir: string) => join(dataDir, "state", "exports.ndjson");

const readRegistry = async (dataDir: string): Promise<readonly string[]> => {
  const text = (await readOwnIfThere(registry(dataDir))) ?? "";
  // A crash may cut a line off; the next one then follows it on the same line. Inside JSON a quote is escaped.
  return text.split(/\n|(?=\{"dir":)/).flatMap((line) => entry.safeParse(jsonOrNull(line)).data?.dir ?? []);
};

export const isInside = (dataDir: string, dir: string) => relative(dataDir, dir).split(sep)[0] !== "..";

const defaultFolders = (dataDir: string): readonly string[] =>
  EXPORT_FORMATS.map((format) => exportDir(dataDir, format));

/** Remembers a folder, unless it is one of the default ones. `dir`: absolute. */
export const rememberExport = async (dataDir: string, dir: string): Promise<void> => {
  if (defaultFolders(dataDir).includes(dir) || (await readRegistry(dataDir)).includes(dir)) return;
  try {
    makeOwnFolder(join(dataDir, "state"));
    appendOwn(registry(dataDir), `${JSON.stringify({ dir })}\n`);
  } catch (error) {
    // Exporting is allowed without write access to the data directory. `forget --export-dir` must then name the
    // folder.
    if (!hasSystemCode(error, "EACCES", "EROFS", "EPERM")) throw error;
  }
};

/** Every folder that may hold an export: the default ones and the remembered ones. */
export const exportFolders = async (dataDir: string): Promise<readonly string[]> => [
  ...defaultFolders(dataDir),
  ...(await readRegistry(dataDir)),
];

export interface Part {
  readonly table: ExportTable;
  readonly columns: readonly ExportColumn[];
  readonly file: string;
  /** `2025-01`, `none`, or null when the table is one file. */
  readonly partition: string | null;
  readonly rows: number;
  readonly fingerprint: string;
}

const columnRow = z.object({ name: z.string(), type: z.string() });
const partRow = z.object({ month: z.string().nullable(), row_count: z.number(), content: z.string() });

/** Folder of a month, named for readers of Hive partitions. */
const monthFolder = (month: string | null): string => `year_month=${month ?? "__HIVE_DEFAULT_PARTITION__"}`;

/** The parts of one table in the snapshot. `since`: only rows that changed after this time. */
export const partsOf = async (
  database: Database,
  table: ExportTable,
  request: { readonly format: ExportFormat; readonly guardFormulas: boolean },
  since: SqlValue,
): Promise<readonly Part[]> => {
  const columns = await database.query(sqlText("warehouse/columns-of.sql"), [table.path], columnRow);
  // An older snapshot may lack this table or view.
  if (columns.length === 0) return [];
  const found = await database.query(fingerprintSql(table, columns), [since], partRow);
  // An empty table with one file keeps it, so that readers find its columns. An empty table cut by month has no file,
  // because neither pandas nor pyarrow opens a folder without a month.
  const isWhole = table.monthOf === null;
  const parts = found.length === 0 && isWhole ? [{ month: null, row_count: 0, content: "0" }] : found;
  const { format } = request;
  const begunAt = await readBegunAt(database);
  const shape = createHash("sha256").update(
    JSON.stringify({ columns, cells: cellsSql(columns, request), orderBy: table.orderBy, begunAt }),
  );
  const shapeText = shape.digest("hex").slice(0, 16);
  return parts.map(({ month, row_count, content }) => {
    const folder = table.monthOf === null ? table.label : `${table.label}/${monthFolder(month)}`;
    return {
      table,
      columns,
      file: `${folder}/${table.label}.${format}`,
      partition: table.monthOf === null ? null : (month ?? "none"),
      rows: row_count,
      fingerprint: `${row_count}-${content}-${shapeText}`,
    };
  });
};

export const MANIFEST_NAME = "_manifest.json";

export const entrySchema = z.object({
  /** Path below the folder, with forward slashes. */
  file: z.string(),
  /** Name of the table as in `--tables`. */
  table: z.string(),
  /** Month of the rows, `2025-01`; `none` for rows without one; null when the table is one file. */
  partition: z.string().nullable(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  /** Last run of the mirror when the file was written. */
  run: z.string().nullable(),
  /** Fingerprint of the rows in the file. If it is unchanged, the file is not written again. */
  fingerprint: z.string(),
});

const manifestSchema = z.object({
  version: z.literal(1),
  format: z.enum(EXPORT_FORMATS),
  /** Only rows that changed since then (ISO 8601); null: all rows. */
  since: z.string().nullable(),
  /** CSV: cells that a spreadsheet would run as a formula start with a quote. */
  guardFormulas: z.boolean(),
  /** Last run of the mirror in this set. */
  run: z.string().nullable(),
  /** Every table of the set, including empty ones, which may have no file. */
  tables: z.array(z.string()),
  files: z.array(entrySchema),
});

export type ManifestEntry = z.output<typeof entrySchema>;
export type Manifest = z.output<typeof manifestSchema>;

/** Plan for moving a completely written set into place; carried out again after a crash. */
export const planSchema = z.object({
  manifest: manifestSchema,
  /** Staged file → its path below the folder. */
  moves: z.array(z.object({ from: z.string(), to: z.string() })),
  /** Files that no longer belong to the set. */
  removals: z.array(z.string()),
});
export type SwapPlan = z.output<typeof planSchema>;

/** Parsed JSON of a file; null if the file does not exist. */
export const readJson = async (file: string): Promise<unknown> => {
  const text = await readOwnIfThere(file);
  return text === null ? null : JSON.parse(text);
};

/**
 * The manifest of a folder; null if it has none. Throws EXPORT_FOLDER when the file is no manifest of this
 * program, DATA_DIR_UNWRITABLE when it is a link or pipe.
 */
export const readManifest = async (dir: string): Promise<Manifest | null> => {
  try {
    const found = await readJson(join(dir, MANIFEST_NAME));
    return found === null ? null : manifestSchema.parse(found);
  } catch (error) {
    if (error instanceof DuckmirrorError) throw error;
    const detail = `${MANIFEST_NAME} is not one that this program wrote (${detailOf(error).slice(0, 200)})`;
    throw new DuckmirrorError("EXPORT_FOLDER", { dir, detail }, { cause: error });
  }
};
