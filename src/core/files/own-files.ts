// THE opener of files and folders that duckmirror creates. It follows no link, waits for no pipe, and checks what it opened, because others
// may have planted a link or a pipe at that path: a link leads a write elsewhere, and a pipe blocks the process, which then ignores
// SIGTERM. A test finds any other opener (test/architecture.test.ts).
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  type Dirent,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  type ReadStream,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { copyFile, type FileHandle, open, readdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { DuckmirrorError, detailOf, hasSystemCode } from "../errors.ts";
import { flushToDisk, moveOver, system } from "../system.ts";

// Creates a folder and those above it. Node's own `mkdir` with `recursive` never ends where the system has no place for a
// folder although the one above it exists, as below /proc.

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Creates the folder at `path` (absolute, or relative to the working directory) and the missing ones above it, each with
 * `mode`. Returns the first one that it created; undefined: all were there. Throws the system's error.
 */
export const makeFolders = (path: string, mode = 0o777): string | undefined => {
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    if (isFolder(path)) return undefined;
    const above = dirname(path);
    if (!hasSystemCode(error, "ENOENT") || above === path || isFolder(above)) throw error;
    const first = makeFolders(above, mode);
    const own = makeFolders(path, mode);
    return first ?? own;
  }
};

const FULL =
  /no space left on device|disk quota exceeded|disk is full|could not write all bytes|file too large|not enough space on the disk/i;
/** Whether a message says that a disk, a quota or a file's limit is full. */
export const saysFull = (detail: string): boolean => FULL.test(detail);

/** Error of a write: DISK_FULL where that is the cause, else the error itself. */
export const diskError = (error: unknown): unknown => {
  if (error instanceof DuckmirrorError || !saysFull(detailOf(error))) return error;
  return new DuckmirrorError("DISK_FULL", { detail: detailOf(error) }, { cause: error });
};

// Replaces a file as a whole: a crash, a kill or a full disk leaves the old content or the new one, never a part.

/**
 * Replaces a file atomically and durably by what `write` puts into the new one; only its owner can read it. Throws the
 * errors of `write`, and DISK_FULL.
 */
export const rewriteWith = async (file: string, write: (fresh: FileHandle) => Promise<void>): Promise<void> => {
  const fresh = `${file}.new`;
  try {
    // A file of that name was left by a crash, or planted; creating a new file follows no link.
    await rm(fresh, { force: true });
    await createDurably(fresh, write);
    await moveOver(fresh, file);
    await flushToDisk(dirname(file));
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw diskError(error);
  }
};

/** Replaces a file's content, as `rewriteWith`. */
export const replaceFile = (file: string, content: Buffer | string): Promise<void> =>
  rewriteWith(file, (fresh) => fresh.writeFile(content));

/** Folder of a data directory that only duckmirror writes to. */
const STATE = "state";
const CAREFUL = system.flags.noLink | system.flags.noWait;
const READING = constants.O_RDONLY | CAREFUL;
const APPENDING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | CAREFUL;

const planted = (path: string, what: string): DuckmirrorError =>
  new DuckmirrorError("DATA_DIR_UNWRITABLE", {
    dir: dirname(path),
    detail: `${basename(path)} is ${what}; remove it`,
  });

/** Whether something of its own kind has this path; false: nothing has. */
const isThere = (path: string, kind: string, isOwn: (found: Stats) => boolean): boolean => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || isOwn(found)) return found !== undefined;
  throw planted(path, found.isSymbolicLink() ? "a link" : `no ${kind}`);
};

const isOwnFolder = (path: string): boolean => isThere(path, "folder", (found) => found.isDirectory());

/** Throws where a folder on the way is a link: `state/` or one below it. */
const assertWay = (folder: string): void => {
  const parts = resolve(folder).split(sep);
  const first = parts.lastIndexOf(STATE);
  if (first < 0) return;
  for (let end = first + 1; end <= parts.length; end++) isOwnFolder(parts.slice(0, end).join(sep));
};

/** Throws DATA_DIR_UNWRITABLE where something else than a regular file has this path. A missing file is fine. */
export const assertOwnFile = (path: string): void => {
  assertWay(dirname(path));
  isThere(path, "regular file", (found) => found.isFile());
};

/** Throws DATA_DIR_UNWRITABLE where something else than a folder has this path. A missing folder is fine. */
export const assertOwnFolder = (path: string): void => {
  assertWay(path);
  isOwnFolder(path);
};

/** Creates a folder that only its owner can open, unless it exists. Throws DATA_DIR_UNWRITABLE, or the system's error. */
export const makeOwnFolder = (path: string): void => {
  assertWay(path);
  if (!isOwnFolder(path)) makeFolders(path, 0o700);
};

/** The error for a path that could not be opened: a link ends in ELOOP, a pipe without a reader or a socket in ENXIO. */
const openingError = (path: string, error: unknown): unknown =>
  hasSystemCode(error, "ELOOP", "EMLINK")
    ? planted(path, "a link")
    : hasSystemCode(error, "ENXIO")
      ? planted(path, "no regular file")
      : error;

const openSyncAs = (path: string, flags: number, mode?: number): number => {
  assertWay(dirname(path));
  let file: number;
  try {
    file = openSync(path, flags, mode);
  } catch (error) {
    throw openingError(path, error);
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw planted(path, "no regular file");
};

/**
 * Appends a text to a file in one write, so that texts of two processes do not mix. Throws DATA_DIR_UNWRITABLE, or the
 * system's error.
 */
export const appendOwn = (path: string, text: string, { flush = false } = {}): void => {
  const bytes = Buffer.from(text);
  const file = openSyncAs(path, APPENDING, 0o600);
  try {
    const written = writeSync(file, bytes);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
    if (flush) fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Opens a file to read it. Throws DATA_DIR_UNWRITABLE, or the system's error. */
export const openOwn = async (path: string): Promise<FileHandle> => {
  assertWay(dirname(path));
  const file = await open(path, READING).catch((error: unknown) => {
    throw openingError(path, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw planted(path, "no regular file");
};

/** The content of a file. Throws as `openOwn`. */
export const readOwn = async (path: string): Promise<Buffer> => {
  const file = await openOwn(path);
  return file.readFile().finally(() => file.close());
};

/** The text of a file. Throws as `openOwn`. */
export const readOwnText = async (path: string): Promise<string> => (await readOwn(path)).toString("utf8");

/** The text of a file; null: there is none. Throws as `openOwn`. */
export const readOwnIfThere = (path: string): Promise<string | null> =>
  readOwnText(path).catch((error: unknown) => {
    if (hasSystemCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  });

/** The content of a file. Throws as `openOwn`. */
export const readOwnSync = (path: string): Buffer => {
  const file = openSyncAs(path, READING);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
};

/** A file's content piece by piece. Throws as `openOwn`. */
export const streamOwn = async (
  path: string,
  range: { readonly highWaterMark?: number; readonly start?: number; readonly end?: number } = {},
): Promise<ReadStream> => createReadStream("", { ...range, fd: await openOwn(path) });

/** Fills a file that does not exist yet. */
export const streamNew = (path: string) => createWriteStream(path, { flags: "wx", mode: 0o600 });

/** Opens a file that does not exist yet, which follows no link. Throws DATA_DIR_UNWRITABLE, or the system's error. */
export const createOwn = (path: string): Promise<FileHandle> => {
  assertWay(dirname(path));
  return open(path, "ax", 0o600);
};

/** Writes a file that does not exist yet; with `flush` to the disk. Throws as `createOwn`. */
export const writeNewSync = (
  path: string,
  content: string | Buffer,
  { mode = 0o600, flush = false }: { readonly mode?: number; readonly flush?: boolean } = {},
): void => {
  assertWay(dirname(path));
  writeFileSync(path, content, { mode, flag: "wx", flush });
};

/** Copies a file to a path that does not exist yet, sharing its blocks where the file system can. Throws as `createOwn`. */
export const copyOwn = (from: string, to: string): Promise<void> => {
  assertOwnFile(from);
  assertWay(dirname(to));
  return copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
};

/** Names in a folder. Throws DATA_DIR_UNWRITABLE, or the system's error. */
export const listOwn = async (folder: string): Promise<readonly string[]> => {
  assertOwnFolder(folder);
  return readdir(folder);
};

/** Names in a folder; none where it is missing. Throws as `listOwn`. */
export const listOwnIfThere = (folder: string): Promise<readonly string[]> =>
  listOwn(folder).catch((error: unknown): string[] => {
    if (hasSystemCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });

/** Entries of a folder. Throws as `listOwn`. */
export const entriesOfOwn = (folder: string): readonly Dirent[] => {
  assertOwnFolder(folder);
  return readdirSync(folder, { withFileTypes: true });
};

/** Entries of a folder, and of those below; none where it is missing. Throws as `listOwn`. */
export const allEntriesOfOwn = (folder: string): readonly Dirent[] => {
  if (!isOwnFolder(folder)) return [];
  return entriesOfOwn(folder).flatMap((entry) => [
    entry,
    ...(entry.isDirectory() ? allEntriesOfOwn(join(folder, entry.name)) : []),
  ]);
};

/**
 * Creates a file that only its owner can read, fills it by `write`, and flushes it to disk. Throws as `createOwn`, also if
 * the name exists.
 */
export const createDurably = async (path: string, write: (file: FileHandle) => Promise<void>): Promise<void> => {
  const handle = await createOwn(path);
  try {
    await write(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
};
