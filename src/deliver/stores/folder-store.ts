// `ObjectStore` for a local folder. A file is written under a temporary name and renamed. A conditional write holds the folder's lock from
// the check to the rename, so that two processes of one machine do not both pass the check.

import { createHash, randomUUID } from "node:crypto";
import { chmodSync, rmSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { DuckmirrorError, detailOf, hasSystemCode, isCode } from "../../core/errors.ts";
import { allEntriesOfOwn, copyOwn, makeFolders, readOwnIfThere, writeNewSync } from "../../core/files/own-files.ts";
import { flushToDisk, moveOver } from "../../core/system.ts";
import { openError } from "../../warehouse/duckdb/duck-errors.ts";
import { modesOf, refuseLinks } from "../../warehouse/export/swap.ts";
import { takeWriterLock } from "../../warehouse/file/working-file.ts";
import type { Condition, ObjectStore, StoredFile } from "./object-store.ts";

const LOCK_NAME = ".lock";

const etagOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Error for the user: the system's own is about a path below the folder. */
const folderError = (error: unknown, name: string): unknown =>
  error instanceof DuckmirrorError || !(error instanceof Error && "code" in error)
    ? error
    : new DuckmirrorError("DESTINATION_FAILED", { name, detail: detailOf(error) }, { cause: error });

/** Throws where a key leads out of the folder: it may come from a manifest that somebody else wrote. */
const inside = (dir: string, key: string): string => {
  const path = join(dir, key);
  if (relative(dir, path).split(sep)[0] !== "..") return path;
  throw new DuckmirrorError("EXPORT_FOLDER", { dir, detail: `${key} leads out of the folder` });
};

/** A folder that is a store; `modes`: of what is written there. */
interface Folder {
  readonly dir: string;
  readonly modes: () => ReturnType<typeof modesOf>;
}

/** Writes by `fill` under another name, durably, and renames. */
const placed = async (folder: Folder, key: string, fill: (path: string) => Promise<unknown>): Promise<void> => {
  const { dir } = folder;
  const path = inside(dir, key);
  const modes = folder.modes();
  refuseLinks(dir, dirname(path));
  if (makeFolders(dirname(path)) !== undefined) chmodSync(dirname(path), modes.folder);
  const fresh = join(dirname(path), `.${randomUUID()}.new`);
  try {
    await fill(fresh);
    chmodSync(fresh, modes.file);
    await flushToDisk(fresh);
    await moveOver(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
  await flushToDisk(dirname(path));
};

/** Runs `work` while no other process writes under a condition; null when another does. */
const alone = async <T>(dir: string, work: () => Promise<T>): Promise<T | null> => {
  const file = join(dir, LOCK_NAME);
  const lock = await takeWriterLock(file, dir).catch((error: unknown) => {
    const failure = openError(error, file, dir);
    if (isCode(failure, "WRITER_BUSY")) return null;
    throw failure;
  });
  if (lock === null) return null;
  try {
    return await work();
  } finally {
    await lock.release();
  }
};

const holds = (condition: Condition, found: string | null): boolean =>
  "ifMatch" in condition ? found !== null && etagOf(found) === condition.ifMatch : found === null;

/** Runs a step, with the system's errors translated. */
const step = async <T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    throw folderError(error, name);
  }
};

/** Writes the file; false: the condition does not hold, or another process writes under one. */
const write = async (folder: Folder, key: string, text: string, condition: Condition | null): Promise<boolean> => {
  const { dir } = folder;
  const writeText = () => placed(folder, key, async (path) => writeNewSync(path, text));
  if (condition === null) {
    await writeText();
    return true;
  }
  const written = await alone(dir, async () => {
    if (!holds(condition, await readOwnIfThere(inside(dir, key)))) return false;
    await writeText();
    return true;
  });
  return written === true;
};

async function* listFiles(name: string, dir: string, signal: AbortSignal): AsyncGenerator<StoredFile> {
  for (const entry of await step(name, signal, async () => allEntriesOfOwn(dir))) {
    const path = join(entry.parentPath, entry.name);
    const found = entry.isFile() ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (found === undefined) continue;
    yield { key: relative(dir, path).split(sep).join("/"), modifiedAt: found.mtimeMs };
  }
}

/**
 * `dir`: absolute; created with its first file. Files have the rights of the folder, because others should read them; with `ownerOnly`,
 * their owner's alone.
 */
export const folderStore = (name: string, dir: string, ownerOnly = false): ObjectStore => {
  const folder: Folder = { dir, modes: () => (ownerOnly ? { file: 0o600, folder: 0o700 } : modesOf(dir)) };
  const make = () => void makeFolders(dir, 0o700);
  return {
    name,
    address: () => null,
    get: (key, signal) =>
      step(name, signal, async () => {
        const text = await readOwnIfThere(inside(dir, key));
        return text === null ? null : { text, etag: etagOf(text) };
      }),
    put: (key, text, condition, signal) =>
      step(name, signal, async () => {
        make();
        return write(folder, key, text, condition);
      }),
    upload: (key, file, signal) =>
      step(name, signal, async () => {
        make();
        await placed(folder, key, (path) => copyOwn(file.path, path));
      }),
    download: (key, path, signal) =>
      step(name, signal, async () => {
        try {
          await copyOwn(inside(dir, key), path);
          return true;
        } catch (error) {
          if (hasSystemCode(error, "ENOENT", "ENOTDIR")) return false;
          throw error;
        }
      }),
    list: (signal) => listFiles(name, dir, signal),
    delete: (keys, signal) =>
      step(name, signal, async () => {
        for (const key of keys) {
          refuseLinks(dir, dirname(inside(dir, key)));
          await rm(inside(dir, key), { force: true });
        }
      }),
    close: () => undefined,
  };
};
