// What an export folder holds: `_manifest.json`, one entry per file. It is replaced last, so what it names is there.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { EXPORT_FORMATS } from "./tables.ts";

export const MANIFEST_NAME = "_manifest.json";

const entrySchema = z.object({
  /** Path below the folder, with forward slashes. */
  file: z.string(),
  /** As `--tables` names it. */
  table: z.string(),
  /** Month of the rows, `2025-01`; `none` for rows without one; null when the table is one file. */
  partition: z.string().nullable(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  /** Last run of the mirror when the file was written. */
  run: z.string().nullable(),
  /** What the file was made from: the same again means that it need not be written. */
  fingerprint: z.string(),
});

const manifestSchema = z.object({
  version: z.literal(1),
  format: z.enum(EXPORT_FORMATS),
  /** Only rows that changed since then (ISO 8601); null: all rows. */
  since: z.string().nullable(),
  /** CSV: cells that a spreadsheet would run have a quote in front. */
  guardFormulas: z.boolean().default(false),
  /** Last run of the mirror that this set shows. */
  run: z.string().nullable(),
  /** Every table of the set, also those without rows, which may have no file. Sets of earlier versions lack it. */
  tables: z.array(z.string()).default([]),
  files: z.array(entrySchema),
});

export type ManifestEntry = z.output<typeof entrySchema>;
export type Manifest = z.output<typeof manifestSchema>;

/** A set that was written completely and now goes into place: replayed after a crash. */
export const planSchema = z.object({
  manifest: manifestSchema,
  /** Staged file → its place below the folder. */
  moves: z.array(z.object({ from: z.string(), to: z.string() })),
  /** Files that no longer belong to the set. */
  removals: z.array(z.string()),
});
export type SwapPlan = z.output<typeof planSchema>;

/** JSON text of a file; null when there is none. */
export const readJson = async (file: string): Promise<unknown> => {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : JSON.parse(text);
};

/** Names of the tables of a set, with or without files. */
export const tablesOf = (manifest: Manifest | null): readonly string[] =>
  manifest === null ? [] : [...new Set([...manifest.tables, ...manifest.files.map(({ table }) => table)])];

/** The manifest of a folder; null where there is none. Throws EXPORT_FOLDER when it is not one of this program. */
export const readManifest = async (dir: string): Promise<Manifest | null> => {
  try {
    const found = await readJson(join(dir, MANIFEST_NAME));
    return found === null ? null : manifestSchema.parse(found);
  } catch (error) {
    const detail = `${MANIFEST_NAME} is not one that this program wrote (${detailOf(error).slice(0, 200)})`;
    throw new DuckmirrorError("EXPORT_FOLDER", { dir, detail }, { cause: error });
  }
};
