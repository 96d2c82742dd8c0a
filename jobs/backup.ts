// Jobs backup and restore: a proven copy of the mirror, and a data directory made of one. They send nothing.
import { readdir, rename, rm, stat } from "node:fs/promises";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import { type Backup, copyIn, readBackup, restoreSmallFiles, writeBackup } from "../src/warehouse/baseline/backup.ts";
import { copyDurably, makeBaseline } from "../src/warehouse/baseline/baseline.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { enterDataDir, warehousePaths } from "../src/warehouse/file/working-file.ts";

/** Object printed by `backup --json` and `restore --json`. */
export interface BackupReport {
  /** Folder of the backup. */
  readonly backup: string;
  readonly made_at: string;
  readonly files: number;
  readonly bytes: number;
  /** Path of the snapshot it was made of, or that was made of it. */
  readonly warehouse: string;
  readonly duration_ms: number;
}

const reportOf = ({ folder, made_at: madeAt, files }: Backup, warehouse: string, durationMs: number): BackupReport => ({
  backup: folder,
  made_at: new Date(madeAt).toISOString(),
  files: Object.keys(files).length,
  bytes: Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0),
  warehouse,
  duration_ms: durationMs,
});

/**
 * Backs up the published snapshot; needs no lock, so a sync may run. Throws SNAPSHOT_MISSING, BACKUP_REFUSED,
 * BASELINE_DAMAGED, DISK_FULL.
 */
export const backupJob = async (
  { dataDir }: Pick<Config, "dataDir">,
  request: { readonly target: string; readonly force: boolean; readonly version: string },
  { clock }: { readonly clock: Clock },
): Promise<BackupReport> => {
  const { snapshot, state } = warehousePaths(dataDir);
  const start = clock.now();
  const backup = await writeBackup({ ...request, snapshot, state, now: start });
  return reportOf(backup, snapshot, clock.now() - start);
};

/** True when the directory holds a mirror, or what one was made of. */
const isUsed = async (dataDir: string): Promise<boolean> => {
  const { working, snapshot, archiveDir } = warehousePaths(dataDir);
  const archived: readonly string[] = await readdir(archiveDir).catch(() => []);
  const found = await Promise.all([working, snapshot].map((path) => stat(path).catch(() => null)));
  return found.some((file) => file !== null) || archived.some((name) => /^\d{4}-\d{2}$/.test(name));
};

/** Fills the directory. The working file comes last, so a restore that was killed can be repeated. */
const fill = async (backup: Backup, dataDir: string, now: number): Promise<void> => {
  const { state, working } = warehousePaths(dataDir);
  const lock = await enterDataDir(dataDir);
  try {
    await restoreSmallFiles(backup, state);
    await makeBaseline(state, copyIn(backup), now);
    const fresh = `${working}.new`;
    await rm(fresh, { force: true });
    await copyDurably(copyIn(backup), fresh);
    await rename(fresh, working);
  } finally {
    await lock.release();
  }
};

/**
 * Makes an empty data directory a mirror again. Throws BASELINE_DAMAGED, RESTORE_REFUSED, WRITER_BUSY,
 * WAREHOUSE_NEWER, DISK_FULL.
 */
export const restoreJob = async (
  { dataDir, memory }: Pick<Config, "dataDir" | "memory">,
  request: { readonly source: string },
  { clock }: { readonly clock: Clock },
): Promise<BackupReport> => {
  const start = clock.now();
  if (await isUsed(dataDir)) throw new DuckmirrorError("RESTORE_REFUSED", { dir: dataDir });
  const backup = await readBackup(request.source);
  await fill(backup, dataDir, start);
  const warehouse = await openWarehouse({ dataDir, clock, memory });
  try {
    const { path } = await warehouse.publish();
    return reportOf(backup, path, clock.now() - start);
  } finally {
    await warehouse.close();
  }
};
