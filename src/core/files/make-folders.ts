// Creates a folder and those above it. Node's own `mkdir` with `recursive` never ends where the system has no place for a
// folder although the one above it exists, as below /proc.
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { hasSystemCode } from "../errors.ts";

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
