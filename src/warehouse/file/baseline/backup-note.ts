// Note of a backup: what is in it, signed with a key that stays beside the mirror and is in no backup. A person
// who can only write to the place of a backup cannot sign another one. An earlier backup of the same mirror stays genuine.
import { createHmac, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { readGiven } from "../../../core/files/given-files.ts";
import { readOwnIfThere, replaceFile } from "../../../core/files/own-files.ts";
import { lastingId } from "../../../core/state/shared-file.ts";

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
  /** Version of duckmirror that wrote it. */
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
