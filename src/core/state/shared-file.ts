// Reads and replaces small JSON state files in the data directory that several processes share (keys, followed companies, tier). A file is
// replaced as a whole, so that readers see the old or the new version; one process changes it at a time.

import { randomBytes } from "node:crypto";
import { link, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { z } from "zod";
import { systemClock } from "../clock.ts";
import { DuckmirrorError, detailOf, hasSystemCode } from "../errors.ts";
import {
  createDurably,
  createOwn,
  makeOwnFolder,
  readOwnIfThere,
  readOwnText,
  replaceFile,
} from "../files/own-files.ts";
import { jsonOrNull } from "../json.ts";
import { flushToDisk, moveOver, system } from "../system.ts";

// The error for a file or folder of the mirror that could not be written.

/** System errors of a full disk, and of a user who has used up a share of it. */
const FULL: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** DISK_FULL if that is the cause, else DATA_DIR_UNWRITABLE for `dir`. */
export const unwritable = (dir: string, cause: unknown): DuckmirrorError => {
  const detail = detailOf(cause);
  return cause instanceof Error && "code" in cause && FULL.includes(cause.code)
    ? new DuckmirrorError("DISK_FULL", { detail }, { cause })
    : new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir, detail }, { cause });
};

// An id in a file of state/, made once: random, and kept beside the working database, so that it moves with it.

/** File with the id of the mirror's history, which destinations keep (docs/decisions/destinations.md). */
export const HISTORY_ID = "history-id";

/** Null: there is none. Throws the system's error: an id that cannot be read for a moment must not be replaced. */
const read = async (path: string, bytes: number): Promise<string | null> => {
  const id = ((await readOwnIfThere(path)) ?? "").trim();
  return id.length === 2 * bytes && /^[0-9a-f]+$/.test(id) ? id : null;
};

/**
 * Makes a file of one line that is there once. If another process makes it at the same moment, the first one counts; a file that `read`
 * does not take (null) is replaced. Returns what the file holds. Throws the system's error.
 */
export const makeOnce = async (path: string, fresh: string, read: () => Promise<string | null>): Promise<string> => {
  const half = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    await createDurably(half, (file) => file.writeFile(`${fresh}\n`));
    await link(half, path).catch(() => undefined);
    const stored = await read();
    if (stored === null) await moveOver(half, path);
    return stored ?? fresh;
  } finally {
    await unlink(half).catch(() => undefined);
  }
};

/** The id in the file `name`, of `bytes` bytes; made if there is none. Throws DATA_DIR_UNWRITABLE, and the error of a file that cannot be read. */
export const lastingId = async (dataDir: string, name: string, bytes = 8): Promise<string> => {
  const folder = join(dataDir, "state");
  const path = join(folder, name);
  const known = await read(path, bytes);
  if (known !== null) return known;
  try {
    makeOwnFolder(folder);
    return await makeOnce(path, randomBytes(bytes).toString("hex"), () => read(path, bytes));
  } catch (cause) {
    throw unwritable(dataDir, cause);
  }
};

const WAIT_MS = 20;
const MOST_WAITS = 100;
/** Waits before a change counts as abandoned, whatever its age: a clock that jumps makes every change look old. */
const LEAST_WAITS = 50;
const MOST_ATTEMPTS = 10;
/** Age at which an unfinished change belongs to a process that was killed, ms. A change takes milliseconds. */
const ABANDONED_MS = 10_000;

export interface SharedFile<T> extends NoteFile<T> {
  /** What the file holds, in messages: "list of keys". */
  readonly holds: string;
  /** What follows if the file is moved away, in a hint. */
  readonly without: string;
  /** Value of a missing file. */
  readonly empty: T;
}

/** The value in the file's text. Throws STATE_FILE_DAMAGED. */
export const parseShared = <T>({ path: file, schema, holds, without }: SharedFile<T>, text: string): T => {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new DuckmirrorError("STATE_FILE_DAMAGED", { file, holds, without }, { cause });
  }
};

/** The file's value. Throws STATE_FILE_DAMAGED, and CONFIG_INVALID when the system does not let it be read. */
export const readShared = async <T>(file: SharedFile<T>): Promise<T> => {
  let text: string;
  try {
    text = await readOwnText(file.path);
  } catch (cause) {
    if (hasSystemCode(cause, "ENOENT")) return file.empty;
    const detail = `${file.path} cannot be read: ${detailOf(cause)}`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail }, { cause });
  }
  return parseShared(file, text);
};

/** A small JSON file that one process writes and that may be lost: a figure is missing then. */
export interface NoteFile<T> {
  readonly path: string;
  readonly schema: z.ZodType<T>;
}

/** Null: there is none, or none that this version reads. Throws if it is planted or the system does not let it be read. */
export const readNote = async <T>({ path, schema }: NoteFile<T>): Promise<T | null> =>
  schema.safeParse(jsonOrNull((await readOwnIfThere(path)) ?? "")).data ?? null;

/** Replaces a note, and makes its folder. Throws the system's error. */
export const writeNote = async <T>({ path }: NoteFile<T>, value: T): Promise<void> => {
  makeOwnFolder(dirname(path));
  await replaceFile(path, `${JSON.stringify(value)}\n`);
};

const isAbandoned = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => null);
  return found !== null && systemClock.now() - found.mtimeMs > ABANDONED_MS;
};

/** Opens the file that will replace the old one; while it exists, no other process changes it. */
const openNext = async (path: string) => {
  makeOwnFolder(dirname(path));
  for (let waits = 0; ; waits++) {
    try {
      return await createOwn(path);
    } catch (error) {
      if (!system.isTaken(error) || waits >= MOST_WAITS) throw error;
      if (waits >= LEAST_WAITS && (await isAbandoned(path))) await unlink(path).catch(() => undefined);
      else await systemClock.sleep(WAIT_MS);
    }
  }
};

/** True unless another process took the unfinished change for an abandoned one, because this one or the clock had stopped. */
const isOwn = async (next: string, ino: bigint): Promise<boolean> =>
  (await stat(next, { bigint: true }).catch(() => null))?.ino === ino;

/** One attempt to change the file; null: another process took the change away. */
const tryChange = async <T>(file: SharedFile<T>, change: (value: T) => T): Promise<{ readonly value: T } | null> => {
  const next = `${file.path}.next`;
  const handle = await openNext(next);
  // Windows' numbers are larger than a number holds.
  const { ino } = await handle.stat({ bigint: true });
  try {
    const value = change(await readShared(file));
    await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await handle.sync();
    // While the handle is open, no other file gets its number.
    if (!(await isOwn(next, ino))) return null;
    await handle.close();
    await moveOver(next, file.path);
    // A key that was revoked must not be valid again after a loss of power.
    await flushToDisk(dirname(file.path));
    return { value };
  } catch (error) {
    if (await isOwn(next, ino)) await unlink(next).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
};

/** Changes the file atomically. Throws the errors of `change`, CONFIG_INVALID, DATA_DIR_UNWRITABLE and DISK_FULL. */
export const changeShared = async <T>(file: SharedFile<T>, change: (value: T) => T): Promise<T> => {
  try {
    for (let attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
      const changed = await tryChange(file, change);
      if (changed !== null) return changed.value;
    }
    throw new Error(`${file.path} is changed by other processes all the time`);
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw unwritable(dirname(file.path), cause);
  }
};
