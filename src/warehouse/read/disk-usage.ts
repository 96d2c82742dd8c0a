// Measures the bytes of a data directory by part, and how fast its archive grows. Reads names and sizes only: no lock, no content.
import { type Dirent, lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { entriesOfOwn } from "../../core/files/own-files.ts";
import { INTENTS, RESPONSES } from "../archive/archive.ts";
import { trailDir } from "../audit/trail.ts";
import { JOURNAL } from "../journal/read-journal.ts";
import { KEPT } from "./kept-snapshots.ts";

/** Parts of a data directory, in the order in which they are shown. */
export const DISK_PARTS = [
  "snapshot",
  "kept_snapshots",
  "working",
  "responses",
  "journal",
  "intents",
  "baseline",
  "old_copies",
  "export",
  "audit",
  "other",
] as const;
export type DiskPart = (typeof DISK_PARTS)[number];

export interface DiskUsage {
  readonly bytes: Readonly<Record<DiskPart, number>>;
  readonly total: number;
  /** Files of the archive: responses, journal and intents. */
  readonly archiveFiles: number;
  /** What the archive's files of the last whole month hold, or, in the first month, of this month so far; null: none. */
  readonly growth: { readonly month: string; readonly whole: boolean; readonly bytes: number } | null;
}

interface FoundFile {
  /** Path below the data directory, in parts. */
  readonly path: readonly string[];
  readonly bytes: number;
}

/**
 * Every file below `dir`, of the entries that `wanted` chooses; a folder or file that is removed meanwhile is left out,
 * and links are not followed.
 */
const filesBelow = (dir: string, wanted: RegExp, path: readonly string[] = []): readonly FoundFile[] => {
  let entries: readonly Dirent[];
  try {
    entries = entriesOfOwn(dir);
  } catch {
    return [];
  }
  const chosen = entries.filter(({ name }) => wanted.test(name));
  return chosen.flatMap((entry): readonly FoundFile[] => {
    const at = [...path, entry.name];
    if (entry.isDirectory()) return filesBelow(join(dir, entry.name), /./, at);
    const file = lstatSync(join(dir, entry.name), { throwIfNoEntry: false });
    return file === undefined ? [] : [{ path: at, bytes: file.size }];
  });
};

/** What duckmirror keeps beside state/: the snapshot, a copy under way, spilled data of readers, and exports. */
const OURS = /^(\.?warehouse\.duckdb(\..+)?|state|export(-csv|-ndjson)?)$/;

const AUDIT = basename(trailDir(""));
const MONTH = /^\d{4}-\d{2}$/;

const archivePart = (name: string): DiskPart => {
  if (name.endsWith(RESPONSES)) return "responses";
  if (name.endsWith(INTENTS)) return "intents";
  return name.endsWith(JOURNAL) ? "journal" : "other";
};

const statePart = ([folder = "", ...rest]: readonly string[]): DiskPart => {
  if (folder === "archive") return archivePart(rest.at(-1) ?? "");
  if (folder === "baseline") return "baseline";
  if (folder === AUDIT) return "audit";
  // Beside them, their list is small.
  if (folder === KEPT) return rest.at(-1)?.endsWith(".duckdb") ? "kept_snapshots" : "other";
  if (/^working\.duckdb\..*\.old(\.wal)?$/.test(folder)) return "old_copies";
  return /^working\.duckdb(\.wal)?$/.test(folder) ? "working" : "other";
};

const partOf = ([first = "", ...rest]: readonly string[]): DiskPart => {
  if (first === "state") return statePart(rest);
  if (first === "warehouse.duckdb") return "snapshot";
  return first.startsWith("export") ? "export" : "other";
};

/** Bytes of the archive by month of the run: `2026-11` → bytes. */
const bytesByMonth = (files: readonly FoundFile[]): ReadonlyMap<string, number> => {
  const months = new Map<string, number>();
  for (const { path, bytes } of files) {
    const [, , month = ""] = path;
    if (MONTH.test(month)) months.set(month, (months.get(month) ?? 0) + bytes);
  }
  return months;
};

/** Reads the data directory. `now`: ms since the epoch. */
export const readDiskUsage = (dataDir: string, now: number): DiskUsage => {
  const files = filesBelow(dataDir, OURS);
  const bytes: Record<DiskPart, number> = {
    snapshot: 0,
    kept_snapshots: 0,
    working: 0,
    responses: 0,
    journal: 0,
    intents: 0,
    baseline: 0,
    old_copies: 0,
    export: 0,
    audit: 0,
    other: 0,
  };
  for (const { path, bytes: size } of files) bytes[partOf(path)] += size;
  const archived = files.filter(({ path }) => path[0] === "state" && path[1] === "archive");
  const present = new Date(now).toISOString().slice(0, 7);
  const months = [...bytesByMonth(archived)].sort(([a], [b]) => (a < b ? 1 : -1));
  const whole = months.find(([month]) => month < present);
  const [month, grown] = whole ?? months[0] ?? [null, 0];
  return {
    bytes,
    total: files.reduce((sum, file) => sum + file.bytes, 0),
    archiveFiles: archived.filter(({ path }) => archivePart(path.at(-1) ?? "") !== "other").length,
    growth: month === null ? null : { month, whole: whole !== undefined, bytes: grown },
  };
};
