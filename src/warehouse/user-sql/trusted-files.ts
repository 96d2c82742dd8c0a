// Decides whether a database file may be opened: whether duckmirror made it. Snapshots that this machine published and working files that
// it closed are recognized by their place on the disk, which nobody can send along with a file. Any other file is inspected in the fenced
// process first, because its views could run foreign SQL.
import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwnIfThere, replaceFile, writeNewSync } from "../../core/files/own-files.ts";
import { fileError, openError } from "../duckdb/duck-errors.ts";
import { ownSelects } from "../generated/view-texts.ts";
import type { Inspected } from "./gate/inspect-catalog.ts";
import { createProcessPool, endOf } from "./process-pool.ts";
import type { SqlProcess } from "./sql-process.ts";

const SNAPSHOT_MIB = 512;
/** A long WAL takes minutes. */
const INSPECTION_MS = 600_000;
const MIB = 1024 * 1024;
const SHOWN = 3;

const identityOf = (file: string): string => {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs].join(" ");
};

/** Beside the snapshot, where a mirror has its state. */
const noteOf = (snapshot: string) => join(dirname(snapshot), "state", "published");

/** Files that this process knows. */
const known = new Set<string>();

/** Notes a snapshot that this program has just published. A note that cannot be written costs an inspection. */
export const noteOwn = async (snapshot: string): Promise<void> => {
  const identity = identityOf(snapshot);
  known.add(identity);
  await replaceFile(noteOf(snapshot), `${identity}\n`).catch(() => undefined);
};

interface Inspection {
  readonly memoryMiB: number;
  /** The WAL belongs to the file; of a snapshot it was planted. */
  readonly withWal: boolean;
  /** Refuse views that this version makes otherwise. */
  readonly onlyOwnViews: boolean;
  /** The error for one of DuckDB's. */
  readonly errorOf: (error: Error) => unknown;
}

const inspect = async (file: string, { memoryMiB, withWal, errorOf }: Inspection): Promise<Inspected> => {
  const options = { spare: false, onCrash: () => {}, mayDoWithoutFence: true, withWal };
  const pool = createProcessPool({ memoryMiB, timeMs: INSPECTION_MS }, options);
  const held: SqlProcess[] = [];
  const late = new DuckmirrorError("QUERY_LIMIT", { detail: `it took longer than ${INSPECTION_MS / 1000} seconds` });
  const timer = setTimeout(() => held.forEach((one) => void one.end(late)), INSPECTION_MS);
  try {
    const sqlProcess = await pool.take(file, (one) => held.push(one));
    const own = [...ownSelects()];
    const answer = await sqlProcess.request({ kind: "inspect", snapshot: file, memoryLimit: `${memoryMiB}MiB`, own });
    if (answer.kind === "inspected") return answer;
    throw errorOf(new Error(answer.kind === "failed" ? answer.detail : answer.kind));
  } finally {
    clearTimeout(timer);
    await Promise.all(held.map(endOf));
  }
};

const refuse = (file: string, names: readonly string[]): void => {
  const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : "";
  const detail = `${names.slice(0, SHOWN).join(", ")}${more}`;
  if (names.length > 0) throw new DuckmirrorError("CATALOG_REFUSED", { file, detail });
};

/**
 * Whether all views are as this version makes them. Others must be made anew before anything binds them. Throws CATALOG_REFUSED with the names of
 * what else the file holds, and `errorOf` of DuckDB's error.
 */
const hasOwnViews = async (file: string, inspection: Inspection): Promise<boolean> => {
  const { foreign, unlike } = await inspect(file, inspection).catch((error: unknown) => {
    if (error instanceof DuckmirrorError && error.code !== "QUERY_LIMIT") throw error;
    throw new DuckmirrorError("CATALOG_REFUSED", { file, detail: `its catalog cannot be read: ${detailOf(error)}` });
  });
  refuse(file, foreign);
  if (inspection.onlyOwnViews)
    refuse(
      file,
      unlike.map((name) => `${name} (unlike this version's)`),
    );
  return unlike.length === 0;
};

const assertForeign = async (path: string, onlyOwnViews: boolean): Promise<void> => {
  const file = resolve(path);
  const identity = identityOf(file);
  if (known.has(identity)) return;
  const errorOf = (error: Error) => fileError(error, file, true);
  const isOwn = await hasOwnViews(file, { memoryMiB: SNAPSHOT_MIB, withWal: false, onlyOwnViews, errorOf });
  if (isOwn) known.add(identity);
};

/**
 * Returns for a file from elsewhere that is to become a working file, whose views are made anew: it holds only what duckmirror makes, of
 * this version or another. Throws CATALOG_REFUSED with the names of what else it holds, SNAPSHOT_DAMAGED.
 */
export const assertForeignCatalog = (path: string): Promise<void> => assertForeign(path, false);

/** The same for a snapshot, whose views must be this version's; one that this program published here is known. */
export const assertOwnCatalog = async (snapshot: string): Promise<void> => {
  const noted = await readOwnIfThere(noteOf(snapshot)).catch(() => null);
  if (noted?.trim() !== identityOf(snapshot)) await assertForeign(snapshot, true);
};

/**
 * Publishing leaves no `<snapshot>.wal`. If one exists, something else wrote it, and it would change what readers
 * see. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED.
 */
export const assertReadable = (snapshot: string): void => {
  if (!statSync(snapshot, { throwIfNoEntry: false })?.isFile()) {
    throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
  }
  if (statSync(`${snapshot}.wal`, { throwIfNoEntry: false }) === undefined) return;
  const detail = `${snapshot}.wal lies beside it, which duckmirror never writes`;
  throw new DuckmirrorError("SNAPSHOT_DAMAGED", { file: snapshot, detail });
};

/** A snapshot that may be opened and whose views may be bound. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, CATALOG_REFUSED. */
export const assertOwnSnapshot = async (snapshot: string): Promise<void> => {
  assertReadable(snapshot);
  await assertOwnCatalog(snapshot);
};

/** A working file with its WAL, which changes the catalog, too. */
const workingIdentity = (working: string): string =>
  [working, `${working}.wal`]
    .filter((file) => existsSync(file))
    .map(identityOf)
    .join(" ");

const closedNoteOf = (working: string) => join(dirname(working), "closed");

/** Notes a working file that this program has just closed. Not flushed to disk: a note that is lost costs an inspection. */
export const noteClosed = async (working: string): Promise<void> => {
  const identity = workingIdentity(working);
  known.add(identity);
  try {
    await rm(closedNoteOf(working), { force: true });
    writeNewSync(closedNoteOf(working), `${identity}\n`);
  } catch {
    // The next opening inspects the file.
  }
};

/**
 * Returns for a working file that this program closed here, or that holds only what duckmirror makes: after a kill its place on the disk
 * says nothing. `ceilingBytes`: memory that opening it may take. The answer: whether its views are known to be this version's own, or those
 * that it closed. Throws CATALOG_REFUSED, and as `openError`.
 */
export const assertOwnWorking = async (
  working: string,
  { dataDir, ceilingBytes }: { readonly dataDir: string; readonly ceilingBytes: number },
): Promise<boolean> => {
  if (!existsSync(working) || known.has(workingIdentity(working))) return true;
  const noted = await readOwnIfThere(closedNoteOf(working)).catch(() => null);
  if (noted?.trim() === workingIdentity(working)) return true;
  const memoryMiB = Math.ceil(ceilingBytes / MIB);
  const errorOf = (error: Error) => openError(error, working, dataDir);
  return hasOwnViews(resolve(working), { memoryMiB, withWal: true, onlyOwnViews: false, errorOf });
};
