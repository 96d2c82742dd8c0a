// Brings exports up to date after an erasure: each is written again without the person, and what a killed export left goes.
import { stat } from "node:fs/promises";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, hasSystemCode } from "../../core/errors.ts";
import { timeMs } from "../../core/time.ts";
import { exportSnapshot, settleExport } from "../export/export.ts";
import { MANIFEST_NAME, readManifest, tablesOf } from "../export/manifest.ts";
import { exportFolders, isInside } from "../export/registry.ts";

/** False: nothing is there. Throws the system's error: a folder that cannot be reached may hold the person. */
const isFolder = async (dir: string): Promise<boolean> => {
  try {
    return (await stat(dir)).isDirectory();
  } catch (error) {
    if (hasSystemCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
};

/** Refuses a folder without an export: it would not be cleaned, and the report would not say so. Throws USAGE. */
export const assertExports = async (dirs: readonly string[]): Promise<void> => {
  for (const dir of dirs) {
    if ((await isFolder(dir)) && (await readManifest(dir)) !== null) continue;
    throw new DuckmirrorError("USAGE", {
      detail: `--export-dir: ${dir} holds no export, as there is no ${MANIFEST_NAME}`,
    });
  }
};

export interface RefreshedExports {
  /** Folders that are up to date. */
  readonly refreshed: readonly string[];
  /** Folders outside the data directory to which exports went, and which are not there now. */
  readonly missing: readonly string[];
}

/** `named`: folders that the data directory does not know. Throws the errors of `exportSnapshot`. */
export const refreshExports = async (
  { dataDir, snapshot, memory }: { readonly dataDir: string; readonly snapshot: string; readonly memory: MemoryPlan },
  named: readonly string[],
): Promise<RefreshedExports> => {
  const refreshed: string[] = [];
  const missing: string[] = [];
  for (const dir of new Set([...(await exportFolders(dataDir)), ...named])) {
    if (!(await isFolder(dir))) {
      if (!isInside(dataDir, dir)) missing.push(dir);
      continue;
    }
    await settleExport(dir);
    const manifest = await readManifest(dir);
    if (manifest === null) continue;
    const { format, guardFormulas } = manifest;
    const since = manifest.since === null ? null : timeMs(manifest.since);
    await exportSnapshot({ snapshot, dir, memory, format, tables: tablesOf(manifest), since, guardFormulas });
    refreshed.push(dir);
  }
  return { refreshed, missing };
};
