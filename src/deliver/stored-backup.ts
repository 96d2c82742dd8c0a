// Stores a backup in object storage, and fetches it: the files in a folder that only this backup uses, then the note that names the folder.
// The note is replaced on condition, so that a reader finds the earlier backup or the new one, and two writers do not mix theirs.
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { withoutSecrets } from "../core/config/destinations/secrets-in.ts";
import { DuckmirrorError, isCode } from "../core/errors.ts";
import { makeFolders, writeNewSync } from "../core/files/own-files.ts";
import { jsonOrNull } from "../core/json.ts";
import {
  assertProven,
  type Backup,
  type BackupProof,
  isBackupFile,
  NOTE,
  noteSchema,
  readBackup,
} from "../warehouse/file/baseline/backup.ts";
import { type ObjectStore, replaceText, withStore } from "./stores/object-store.ts";
import { openStore, parsePlace, type StoreSettings } from "./stores/open-store.ts";

/** The note with the folder of its files. */
const storedNote = noteSchema.extend({ at: z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/) });
const OWN_FILE = /^\d{8}T\d{6}Z-[0-9a-f]{8}\//;
/** Times a file is asked for when its connection breaks. */
const ATTEMPTS = 3;

export interface BackupPlace {
  /** `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. */
  readonly url: string;
  readonly settings: StoreSettings;
  readonly signal: AbortSignal;
}

/** True for an address of object storage; false for a folder. */
export const isStored = (target: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(target);

const failed = (place: string, detail: string, cause?: unknown) =>
  new DuckmirrorError("BACKUP_PLACE_FAILED", { place: withoutSecrets(place), detail }, { cause });

/** Errors of stores are about destinations; these are about the place of a backup. */
const atPlace = <T>({ url, settings }: BackupPlace, work: (store: ObjectStore) => Promise<T>): Promise<T> => {
  const open = () => openStore(url, parsePlace(url, "/", url), settings);
  return withStore(url, open, (detail, cause) => failed(url, detail, cause), work);
};

/** Removes the files of earlier backups, and of those that were killed. */
const removeOthers = async (store: ObjectStore, at: string, signal: AbortSignal): Promise<void> => {
  const others: string[] = [];
  for await (const { key } of store.list(signal)) {
    if (OWN_FILE.test(key) && !key.startsWith(`${at}/`)) others.push(key);
  }
  await store.delete(others, signal);
};

/** Throws BACKUP_REFUSED where a backup is, unless it may be replaced. */
const noteOf = async (store: ObjectStore, force: boolean, { url, signal }: BackupPlace) => {
  const found = await store.get(NOTE, signal);
  if (found !== null && !force) throw new DuckmirrorError("BACKUP_REFUSED", { dir: url });
  return found;
};

/**
 * Refuses a place that is in use before a backup is made for it. Throws BACKUP_REFUSED, BACKUP_PLACE_FAILED,
 * DESTINATION_PACKAGE_MISSING.
 */
export const checkBackupPlace = (place: BackupPlace, force: boolean): Promise<void> =>
  atPlace(place, async (store) => {
    await noteOf(store, force, place);
  });

/** Sends a backup. Throws as `checkBackupPlace`; what was there is then as it was. */
export const sendBackup = (backup: Backup, place: BackupPlace, force: boolean): Promise<Backup> =>
  atPlace(place, async (store) => {
    const { url, signal } = place;
    const earlier = await noteOf(store, force, place);
    const { folder, ...note } = backup;
    const time = new Date(note.made_at).toISOString().replace(/[-:]|\.\d+/g, "");
    const at = `${time}-${randomBytes(4).toString("hex")}`;
    for (const [name, facts] of Object.entries(note.files)) {
      await store.upload(`${at}/${name}`, { path: join(folder, name), ...facts }, signal);
    }
    const text = `${JSON.stringify({ ...note, at }, null, 1)}\n`;
    if (!(await replaceText(store, NOTE, text, earlier, signal)))
      throw failed(url, "another backup was written there at the same time");
    await removeOthers(store, at, signal);
    return { ...note, folder: url };
  });

/** Downloads a file; begins again when the connection breaks. */
const download = async (store: ObjectStore, key: string, path: string, signal: AbortSignal): Promise<boolean> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await rm(path, { force: true });
      return await store.download(key, path, signal);
    } catch (error) {
      if (attempt === ATTEMPTS || !isCode(error, "DESTINATION_AWAY")) throw error;
    }
  }
};

/**
 * Brings a backup to `folder`, which must not exist, and proves it. Throws BACKUP_MISSING, BACKUP_UNPROVEN, BACKUP_DAMAGED,
 * BACKUP_PLACE_FAILED.
 */
export const fetchBackup = (place: BackupPlace, folder: string, proof: BackupProof): Promise<Backup> =>
  atPlace(place, async (store) => {
    const { url, signal } = place;
    const damaged = (file: string, detail: string) => new DuckmirrorError("BACKUP_DAMAGED", { file, detail });
    const found = await store.get(NOTE, signal);
    if (found === null) throw new DuckmirrorError("BACKUP_MISSING", { place: url });
    const note = storedNote.safeParse(jsonOrNull(found.text));
    if (!note.success) throw damaged(`${url}/${NOTE}`, "it is no note that this version reads");
    assertProven(note.data, withoutSecrets(url), proof);
    for (const name of Object.keys(note.data.files)) {
      if (!isBackupFile(name)) throw damaged(`${url}/${NOTE}`, `it names a file that no backup has: ${name}`);
      const key = `${note.data.at}/${name}`;
      makeFolders(dirname(join(folder, name)), 0o700);
      if (!(await download(store, key, join(folder, name), signal))) throw damaged(`${url}/${key}`, "it is missing");
    }
    writeNewSync(join(folder, NOTE), found.text);
    return readBackup(folder, proof);
  });
