// Whether a data directory can be written, without writing to it: for checks before the first sync.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { assertOwnFolder } from "../../core/files/own-files.ts";
import { warehousePaths } from "./working-file.ts";

/** The nearest existing path: the folder itself, or one above it. */
const existing = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existing(dirname(path));

const assertFolder = (path: string): void => {
  if (!statSync(path).isDirectory()) throw new Error(`${path} is no folder`);
  accessSync(path, constants.W_OK | constants.X_OK);
};

/** Throws DATA_DIR_UNWRITABLE. A folder that is missing must be possible to create. */
export const assertWritable = (dataDir: string): void => {
  const { state, archiveDir, working } = warehousePaths(dataDir);
  try {
    for (const dir of [state, archiveDir]) assertOwnFolder(dir);
    for (const dir of [dataDir, state, archiveDir]) assertFolder(existing(dir));
    if (existsSync(working)) accessSync(working, constants.R_OK | constants.W_OK);
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dataDir, detail: detailOf(cause) }, { cause });
  }
};
