// Backups: a folder with a proven copy of the snapshot and the small files of state/ that no sync can get back.

import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { z } from "zod";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { listOwn, makeFolders, readOwnIfThere, replaceFile } from "../../../core/files/own-files.ts";
import { jsonOrNull } from "../../../core/json.ts";
import { HISTORY_ID } from "../../../core/state/shared-file.ts";
import { moveOver } from "../../../core/system.ts";
import { fileError } from "../../duckdb/duck-errors.ts";
import {
  assertProven,
  type BackupNote,
  type BackupProof,
  type fileSchema,
  NOTE,
  noteSchema,
  signatureOf,
} from "./backup-note.ts";
import { copyDurably, digestOf, readThrough } from "./baseline.ts";

/** Hashes of the server's named keys. */
const KEYS = "keys.json";
/**
 * Followed companies, tier, totals, keys of the server, field rules, the id that destinations know the mirror by; erased
 * contacts and the key of their hashes.
 */
const SMALL_FILES = [
  "following.json",
  "tier.json",
  "checked.json",
  KEYS,
  "field-rules.json",
  HISTORY_ID,
  "forget.key",
  join("archive", "forgotten.json"),
];
/** Those that move with a mirror. The server's keys stay with each machine. */
export const MOVING_FILES: readonly string[] = SMALL_FILES.filter((name) => name !== KEYS);
const COPY = "warehouse.duckdb";

export interface Backup extends BackupNote {
  readonly folder: string;
}

/** True for the files that this version writes. A note may come from elsewhere, and its names become paths. */
export const isBackupFile = (name: string): boolean =>
  name === COPY || SMALL_FILES.some((small) => name === join("state", small));

/** Path of the copy of the snapshot. */
export const copyPathOf = ({ folder }: Backup): string => join(folder, COPY);

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => null)) !== null;
const damaged = (file: string, detail: string) => new DuckmirrorError("BACKUP_DAMAGED", { file, detail });

const factsOf = async (path: string) => ({ bytes: (await stat(path)).size, sha256: await digestOf(path) });

const unusable = (place: string, error: unknown) =>
  new DuckmirrorError("BACKUP_PLACE_FAILED", { place, detail: detailOf(error) }, { cause: error });
/** Code of an error of the file system; "" for any other. */
const codeOf = (error: unknown): string =>
  error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : "";

/** What is in the folder; nothing where there is none. Throws BACKUP_PLACE_FAILED, for a file too. */
const entriesOf = async (folder: string): Promise<readonly string[]> => {
  try {
    return await listOwn(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw unusable(folder, error);
  }
};

/** Files that a backup may hold, whole or left by a killed process. */
const isOfBackup = (name: string): boolean => name === "state" || name.startsWith(COPY) || name.startsWith(NOTE);

/**
 * Refuses a target that is in use; with `force`, an earlier backup may be replaced. The folder beside it in which the
 * backup is written may hold what a killed process left. Nothing else is ever removed.
 */
const refuseUsed = async (target: string, fresh: string, force: boolean): Promise<void> => {
  const entries = await entriesOf(target);
  const mayReplace = force && entries.includes(NOTE) && entries.every(isOfBackup);
  if (entries.length > 0 && !mayReplace) throw new DuckmirrorError("BACKUP_REFUSED", { dir: target });
  if (!(await entriesOf(fresh)).every(isOfBackup)) throw new DuckmirrorError("BACKUP_REFUSED", { dir: fresh });
};

/**
 * Renames an earlier backup that was written whole and killed before its last step; true if there was one. The one it replaces
 * is gone by then, so it is the only one.
 */
const finishEarlier = async (target: string, fresh: string): Promise<boolean> => {
  if (await exists(target)) return false;
  const whole = await readBackup(fresh, "trusted").catch(() => null);
  if (whole !== null) await moveOver(fresh, target);
  return whole !== null;
};

interface BackupRequest {
  readonly snapshot: string;
  readonly state: string;
  /** Folder that the backup becomes. */
  readonly target: string;
  /** Replace an earlier backup. */
  readonly force: boolean;
  readonly version: string;
  /** Finds or makes the key that signs it. */
  readonly keyOf: () => Promise<string>;
  /** ms since the epoch. */
  readonly now: number;
}

/**
 * Writes a backup beside its place and renames it. Throws SNAPSHOT_MISSING, BACKUP_REFUSED, BACKUP_PLACE_FAILED,
 * BASELINE_DAMAGED (the copy, read through), DISK_FULL.
 */
export const writeBackup = async (request: BackupRequest): Promise<Backup> => {
  const { snapshot, state, target, force, version, keyOf, now } = request;
  if (!(await exists(snapshot))) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
  const fresh = `${target}.new`;
  // Only the finished one may be replaced, and only by a whole one.
  const finished = await finishEarlier(target, fresh);
  await refuseUsed(target, fresh, force || finished);
  const key = await keyOf();
  try {
    await rm(fresh, { recursive: true, force: true });
    makeFolders(join(fresh, "state", "archive"), 0o700);
    await copyDurably(snapshot, join(fresh, COPY));
    const applied = await readThrough(join(fresh, COPY));
    const files: Record<string, z.output<typeof fileSchema>> = { [COPY]: await factsOf(join(fresh, COPY)) };
    for (const name of SMALL_FILES) {
      if (!(await exists(join(state, name)))) continue;
      const at = join("state", name);
      await copyDurably(join(state, name), join(fresh, at));
      files[at] = await factsOf(join(fresh, at));
    }
    const facts = { v: 1 as const, made_at: now, applied, version, files };
    const note = { ...facts, hmac: signatureOf(facts, key) };
    await replaceFile(join(fresh, NOTE), `${JSON.stringify(note, null, 1)}\n`);
    await rm(target, { recursive: true, force: true });
    await moveOver(fresh, target);
    return { ...note, folder: target };
  } catch (error) {
    await rm(fresh, { recursive: true, force: true }).catch(() => undefined);
    const known = fileError(error, snapshot, true);
    throw known instanceof DuckmirrorError || codeOf(error) === "" ? known : unusable(target, error);
  }
};

/** A backup whose every file is as it was written. Throws BACKUP_MISSING, BACKUP_UNPROVEN, BACKUP_DAMAGED. */
export const readBackup = async (folder: string, proof: BackupProof): Promise<Backup> => {
  const text = await readOwnIfThere(join(folder, NOTE));
  if (text === null) throw new DuckmirrorError("BACKUP_MISSING", { place: folder });
  const note = noteSchema.safeParse(jsonOrNull(text));
  if (!note.success) throw damaged(join(folder, NOTE), "it is no note that this version reads");
  assertProven(note.data, folder, proof);
  for (const [name, facts] of Object.entries(note.data.files)) {
    if (!isBackupFile(name)) throw damaged(join(folder, NOTE), `it names a file that no backup has: ${name}`);
    const path = join(folder, name);
    if (!(await exists(path))) throw damaged(path, "it is missing");
    const found = await factsOf(path);
    if (found.bytes !== facts.bytes) throw damaged(path, `it has ${found.bytes} of ${facts.bytes} bytes`);
    if (found.sha256 !== facts.sha256) throw damaged(path, "its checksum differs");
  }
  return { ...note.data, folder };
};

/**
 * Copies the small files of a backup to `state`. Only the names that this version writes, and the server's keys only on request: they
 * open the server to those who wrote the backup.
 */
export const restoreSmallFiles = async (backup: Backup, state: string, withKeys: boolean): Promise<void> => {
  for (const name of SMALL_FILES) {
    if (name === KEYS && !withKeys) continue;
    if (backup.files[join("state", name)] === undefined) continue;
    makeFolders(dirname(join(state, name)), 0o700);
    // Left by a restore that was killed.
    await rm(join(state, name), { force: true });
    await copyDurably(join(backup.folder, "state", name), join(state, name));
  }
};
