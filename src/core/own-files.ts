// Files and folders that only duckmirror creates. Where it finds a link, or anything else that is not its own kind, it
// stops: somebody planted it, and a write would go to another place.
import { constants, lstatSync, type Stats } from "node:fs";
import { basename, dirname } from "node:path";
import { DuckmirrorError } from "./errors.ts";
import { makeFolders } from "./make-folders.ts";

/** Whether something of its own kind has this path; false: nothing has. */
const isThere = (path: string, kind: string, isOwn: (found: Stats) => boolean): boolean => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || isOwn(found)) return found !== undefined;
  const what = found.isSymbolicLink() ? "a link" : `no ${kind}`;
  const detail = `${basename(path)} is ${what}; remove it`;
  throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dirname(path), detail });
};

/** Throws DATA_DIR_UNWRITABLE where something else than a regular file has this path. A missing file is fine. */
export const assertOwnFile = (path: string): void => void isThere(path, "regular file", (found) => found.isFile());

/** Throws DATA_DIR_UNWRITABLE where something else than a folder has this path. A missing folder is fine. */
export const assertOwnFolder = (path: string): void => void isFolder(path);

const isFolder = (path: string): boolean => isThere(path, "folder", (found) => found.isDirectory());

/** Creates a folder that only its owner can open, unless it exists. Throws DATA_DIR_UNWRITABLE, or the system's error. */
export const makeOwnFolder = (path: string): void => {
  if (!isFolder(path)) makeFolders(path, 0o700);
};

/** Flags to append to a file: follows no link, and does not wait for the reader of a pipe. */
export const APPENDING =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  // Windows has neither.
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);

/** Flags to read a file: follows no link, and does not wait for the writer of a pipe, which is then empty. */
export const READING_OWN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
