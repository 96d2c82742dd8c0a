// Contents of an export folder: `_manifest.json` has one entry per file. It is replaced last, so every file it names
// exists.
import { join } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwnIfThere } from "../../core/files/own-files.ts";
import { EXPORT_FORMATS } from "./tables.ts";

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
  guardFormulas: z.boolean().default(false),
  /** Last run of the mirror in this set. */
  run: z.string().nullable(),
  /** Every table of the set, including empty ones, which may have no file. Sets of earlier versions lack this. */
  tables: z.array(z.string()).default([]),
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

/** Names of the tables of a set, with or without files. */
export const tablesOf = (manifest: Manifest | null): readonly string[] =>
  manifest === null ? [] : [...new Set([...manifest.tables, ...manifest.files.map(({ table }) => table)])];

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
