// Jobs backup and restore: a proven copy of the mirror, and a data directory made of one. They send nothing.
import { randomUUID } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { BACKUP_ON_ITS_WAY } from "../src/core/data-dir.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import { listOwn, listOwnIfThere, makeOwnFolder } from "../src/core/files/own-files.ts";
import { moveOver } from "../src/core/system.ts";
import { leaveHome } from "../src/deliver/home/mirror-home.ts";
import { type BackupPlace, checkBackupPlace, fetchBackup, isStored, sendBackup } from "../src/deliver/stored-backup.ts";
import type { StoreSettings } from "../src/deliver/stores/open-store.ts";
import {
  type Backup,
  type BackupProof,
  backupKeyFile,
  copyPathOf,
  keepKey,
  ownBackupKey,
  proofBy,
  readBackup,
  restoreSmallFiles,
  writeBackup,
} from "../src/warehouse/file/baseline/backup.ts";
import { copyDurably, makeBaseline } from "../src/warehouse/file/baseline/baseline.ts";
import { enterDataDir, warehousePaths } from "../src/warehouse/file/working-file.ts";
import { assertForeignCatalog } from "../src/warehouse/user-sql/trusted-files.ts";
import { followHome, withWarehouse } from "./home.ts";

/** Object printed by `backup --json` and `restore --json`. */
export interface BackupReport {
  /** Folder of the backup, or its address in object storage. */
  readonly backup: string;
  readonly made_at: string;
  readonly files: number;
  readonly bytes: number;
  /** Path of the snapshot it was made of, or that was made of it. */
  readonly warehouse: string;
  /** File of the key that signed it, or that proved it; null: trusted without. */
  readonly key_file: string | null;
  readonly duration_ms: number;
}

const reportOf = (
  { folder, made_at: madeAt, files }: Backup,
  warehouse: string,
  keyFile: string | null,
  durationMs: number,
): BackupReport => ({
  backup: folder,
  made_at: new Date(madeAt).toISOString(),
  files: Object.keys(files).length,
  bytes: Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0),
  warehouse,
  key_file: keyFile,
  duration_ms: durationMs,
});

export interface BackupContext {
  readonly clock: Clock;
  /** Ends what is sent or fetched. */
  readonly signal: AbortSignal;
}

/** What only object storage asks for. */
interface Stored {
  readonly bucket?: StoreSettings;
}

/** No backup is on its way for longer. */
const STALE_MS = 24 * 3_600_000;

/** Runs `work` with a folder of state/ that nothing else uses, and removes it, and those of killed processes. */
const withFolder = async <T>(state: string, now: number, work: (folder: string) => Promise<T>): Promise<T> => {
  makeOwnFolder(state);
  for (const name of await listOwn(state)) {
    const path = join(state, name);
    const found = name.startsWith(BACKUP_ON_ITS_WAY) ? await stat(path).catch(() => null) : null;
    const isOld = found !== null && now - found.mtimeMs > STALE_MS;
    if (isOld) await rm(path, { recursive: true, force: true });
  }
  const folder = join(state, `${BACKUP_ON_ITS_WAY}${randomUUID()}`);
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/**
 * Backs up the published snapshot to a folder or to object storage; needs no lock, so a sync may run. A mirror with a home is brought here first. Throws
 * SNAPSHOT_MISSING, BACKUP_REFUSED, BACKUP_PLACE_FAILED, BASELINE_DAMAGED, DISK_FULL, HOME_*.
 */
export const backupJob = async (
  config: Parameters<typeof followHome>[0],
  request: { readonly target: string; readonly force: boolean; readonly version: string } & Stored,
  { clock, signal }: BackupContext,
): Promise<BackupReport> => {
  const { dataDir, azure } = config;
  const { snapshot, state } = warehousePaths(dataDir);
  const start = clock.now();
  await followHome(config, clock);
  const { bucket = {}, target, force } = request;
  const keyOf = () => ownBackupKey(dataDir);
  const write = (folder: string) => writeBackup({ ...request, target: folder, snapshot, state, keyOf, now: start });
  const reported = (backup: Backup) => reportOf(backup, snapshot, backupKeyFile(dataDir), clock.now() - start);
  if (!isStored(target)) return reported(await write(target));
  const place = { url: target, settings: { ...bucket, azure }, signal };
  await checkBackupPlace(place, force);
  const sent = await withFolder(state, start, async (folder) => sendBackup(await write(folder), place, force));
  return reported(sent);
};

/** True when the directory holds a mirror, or what one was made of. */
const isUsed = async (dataDir: string): Promise<boolean> => {
  const { working, snapshot, archiveDir } = warehousePaths(dataDir);
  const archived: readonly string[] = await listOwnIfThere(archiveDir);
  const found = await Promise.all([working, snapshot].map((path) => stat(path).catch(() => null)));
  return found.some((file) => file !== null) || archived.some((name) => /^\d{4}-\d{2}$/.test(name));
};

interface Filling {
  readonly dataDir: string;
  /** Take over the server's keys, too. */
  readonly withKeys: boolean;
  readonly proof: BackupProof;
  readonly now: number;
}

/** Fills the directory. The working file comes last, so a restore that was killed can be repeated. */
const fill = async (backup: Backup, { dataDir, withKeys, proof, now }: Filling): Promise<void> => {
  const { state, working } = warehousePaths(dataDir);
  await assertForeignCatalog(copyPathOf(backup));
  const lock = await enterDataDir(dataDir);
  try {
    await restoreSmallFiles(backup, state, withKeys);
    await leaveHome(dataDir);
    await keepKey(dataDir, proof);
    await makeBaseline(state, copyPathOf(backup), now);
    const fresh = `${working}.new`;
    await rm(fresh, { force: true });
    await copyDurably(copyPathOf(backup), fresh);
    await moveOver(fresh, working);
  } finally {
    await lock.release();
  }
};

/** Fills the directory from a folder, or from object storage. */
const fillFrom = async (source: string, filling: Filling, place: Omit<BackupPlace, "url">) => {
  const whole = async (backup: Backup): Promise<Backup> => {
    await fill(backup, filling);
    return backup;
  };
  if (!isStored(source)) return whole(await readBackup(source, filling.proof));
  const { state } = warehousePaths(filling.dataDir);
  return withFolder(state, filling.now, async (folder) => ({
    ...(await whole(await fetchBackup({ ...place, url: source }, folder, filling.proof))),
    folder: source,
  }));
};

interface RestoreRequest extends Stored {
  readonly source: string;
  readonly withKeys?: boolean;
  /** File of the key that signed the backup. */
  readonly keyFile?: string;
  readonly trust?: boolean;
}

/**
 * Makes an empty data directory a mirror again. The key of the backup must prove it (default: the directory's own), unless it is to be
 * trusted. Throws BACKUP_MISSING, BACKUP_UNPROVEN, BACKUP_DAMAGED, CATALOG_REFUSED, RESTORE_REFUSED, BACKUP_PLACE_FAILED, WRITER_BUSY, WAREHOUSE_NEWER, DISK_FULL.
 */
export const restoreJob = async (
  { dataDir, memory, azure }: Pick<Config, "dataDir" | "memory" | "azure">,
  request: RestoreRequest,
  { clock, signal }: BackupContext,
): Promise<BackupReport> => {
  const start = clock.now();
  if (await isUsed(dataDir)) throw new DuckmirrorError("RESTORE_REFUSED", { dir: dataDir });
  const proof = request.trust === true ? "trusted" : await proofBy(dataDir, request.keyFile ?? null);
  const backup = await fillFrom(
    request.source,
    { dataDir, withKeys: request.withKeys ?? false, proof, now: start },
    {
      settings: { ...request.bucket, azure },
      signal,
    },
  );
  const { path } = await withWarehouse({ dataDir, clock, memory }, (warehouse) => warehouse.publish());
  return reportOf(backup, path, proof === "trusted" ? null : proof.file, clock.now() - start);
};
