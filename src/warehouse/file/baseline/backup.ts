// Writes and reads backups: a folder with a verified copy of the snapshot and the small files of state/ that no sync can get back.

import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { readGiven } from "../../../core/files/given-files.ts";
import { listOwn, makeFolders, readOwnIfThere, replaceFile } from "../../../core/files/own-files.ts";
import { jsonOrNull } from "../../../core/json.ts";
import { HISTORY_ID, lastingId } from "../../../core/state/shared-file.ts";
import { moveOver } from "../../../core/system.ts";
import { fileError } from "../../duckdb/duck-errors.ts";
import { copyDurably, digestOf, readThrough } from "./baseline.ts";

// Note of a backup: what is in it, signed with a key that stays beside the mirror and is in no backup. A person
// who can only write to the place of a backup cannot sign another one. An earlier backup of the same mirror stays genuine.

/** Name of the note in a backup; written last. */
export const NOTE = "backup.json";

const KEY_FILE = "backup.key";
const KEY_BYTES = 32;
const DIGEST = /^[0-9a-f]{64}$/;

export const fileSchema = z.object({ bytes: z.int().nonnegative(), sha256: z.string() });
export const noteSchema = z.object({
  v: z.literal(1),
  /** ms since the epoch. */
  made_at: z.number(),
  /** Number of the last change that the copy holds. */
  applied: z.int().nonnegative(),
  version: z.string(),
  /** Path in the folder → size and digest. */
  files: z.record(z.string(), fileSchema),
  /** Signature of all of the above; absent: a version before signatures wrote it. */
  hmac: z.string().regex(DIGEST).optional(),
});
export type BackupNote = z.output<typeof noteSchema>;

export const backupKeyFile = (dataDir: string): string => join(dataDir, "state", KEY_FILE);

/** The key that signs the backups of this mirror; made if there is none. Throws DATA_DIR_UNWRITABLE. */
export const ownBackupKey = (dataDir: string): Promise<string> => lastingId(dataDir, KEY_FILE, KEY_BYTES);

export const signatureOf = ({ v, made_at, applied, version, files }: BackupNote, key: string): string => {
  const facts = Object.entries(files).map(([name, { bytes, sha256 }]) => [name, bytes, sha256]);
  const text = JSON.stringify([v, made_at, applied, version, facts.sort()]);
  return createHmac("sha256", Buffer.from(key, "hex")).update(`duckmirror backup\0${text}`).digest("hex");
};

/** What proves a backup: a key and its file; a null key: that file is not there. `trusted`: nothing needs to prove it. */
export type BackupProof = { readonly file: string; readonly key: string | null } | "trusted";

/** The key in the file that the user names, else that of the data directory. Throws USAGE for a file that holds none. */
export const proofBy = async (dataDir: string, given: string | null): Promise<BackupProof> => {
  const file = given ?? backupKeyFile(dataDir);
  const unusable = (detail: string) =>
    new DuckmirrorError("USAGE", { detail: `the key of a backup, ${file}: ${detail}` });
  const read = async (): Promise<string | null> => {
    if (given === null) return readOwnIfThere(file);
    try {
      return readGiven(given);
    } catch (error) {
      throw unusable(detailOf(error));
    }
  };
  const key = (await read())?.trim() ?? null;
  if (key !== null && !DIGEST.test(key)) throw unusable("it holds no key");
  return { file, key };
};

/** Throws BACKUP_UNPROVEN. `place`: of the backup, for the message. */
export const assertProven = (note: BackupNote, place: string, proof: BackupProof): void => {
  if (proof === "trusted") return;
  const unproven = (detail: string) => new DuckmirrorError("BACKUP_UNPROVEN", { place, detail });
  if (proof.key === null) throw unproven(`the key that signed it is not here (${proof.file})`);
  if (note.hmac === undefined) {
    throw unproven("it has no signature: an earlier version of duckmirror wrote it, or somebody removed it");
  }
  const isRight = timingSafeEqual(Buffer.from(note.hmac), Buffer.from(signatureOf(note, proof.key)));
  if (!isRight) throw unproven(`its signature is not by the key in ${proof.file}, or ${NOTE} was changed`);
};

/** Gives a restored mirror the key that proved its backup, unless it has one. Throws DATA_DIR_UNWRITABLE, DISK_FULL. */
export const keepKey = async (dataDir: string, proof: BackupProof): Promise<void> => {
  if (proof === "trusted" || proof.key === null) return;
  const file = backupKeyFile(dataDir);
  if ((await readOwnIfThere(file)) === null) await replaceFile(file, `${proof.key}\n`);
};

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

export const copyPathOf = ({ folder }: Backup): string => join(folder, COPY);

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
  if (existsSync(target)) return false;
  const whole = await readBackup(fresh, "trusted").catch(() => null);
  if (whole !== null) await moveOver(fresh, target);
  return whole !== null;
};

interface BackupRequest {
  readonly snapshot: string;
  readonly state: string;
  /** Folder that the backup becomes. */
  readonly target: string;
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
  if (!existsSync(snapshot)) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
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
      if (!existsSync(join(state, name))) continue;
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
    if (!existsSync(path)) throw damaged(path, "it is missing");
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
