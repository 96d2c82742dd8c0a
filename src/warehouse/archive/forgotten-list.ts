// List of erased contacts, beside the archive: keyed hashes of their ids, so that no later sync stores them again. The key is a separate
// file (`state/forget.key`), so that a copy of the archive identifies no one.

import { createHmac, randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf, hasSystemCode } from "../../core/errors.ts";
import { readOwn, replaceFile } from "../../core/files/own-files.ts";

const KEY_BYTES = 32;
const LIST_NAME = "forgotten.json";

const entrySchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  forgotten_at: z.string(),
  /** False while the contact is being erased, true once every trace is gone. */
  done: z.boolean(),
});
const listSchema = z.object({ version: z.literal(1), contacts: z.array(entrySchema) });

export type ForgottenEntry = z.output<typeof entrySchema>;

export interface ForgottenList {
  readonly entries: readonly ForgottenEntry[];
  /** Keyed hash of a contact's id. */
  readonly hashOf: (id: string) => string;
  /** Hash of the id if this contact is on the list, finished or not; else null. */
  readonly find: (id: string) => string | null;
}

const listFile = (archiveDir: string) => join(archiveDir, LIST_NAME);
const keyFile = (archiveDir: string) => join(dirname(archiveDir), "forget.key");

const readIfThere = (file: string): Promise<Buffer | null> =>
  readOwn(file).catch((error: unknown) => {
    if (hasSystemCode(error, "ENOENT")) return null;
    throw error;
  });

const listOf = (key: Buffer, entries: readonly ForgottenEntry[]): ForgottenList => {
  const hashes = new Set(entries.map(({ hash }) => hash));
  const hashOf = (id: string) => createHmac("sha256", key).update(`contact\0${id}`).digest("hex");
  return {
    entries,
    hashOf,
    find: (id) => {
      if (hashes.size === 0) return null;
      const hash = hashOf(id);
      return hashes.has(hash) ? hash : null;
    },
  };
};

const parseList = (text: string, file: string): readonly ForgottenEntry[] => {
  try {
    return listSchema.parse(JSON.parse(text)).contacts;
  } catch (error) {
    throw new DuckmirrorError("FORGOTTEN_UNREADABLE", { detail: `${file}: ${detailOf(error).slice(0, 200)}` });
  }
};

/**
 * The list of a data directory; empty if it has none. Throws FORGOTTEN_UNREADABLE when the list cannot be read or its
 * key is missing, because continuing would store erased people again.
 */
export const readForgotten = async (archiveDir: string): Promise<ForgottenList> => {
  const [text, key] = await Promise.all([readIfThere(listFile(archiveDir)), readIfThere(keyFile(archiveDir))]);
  const entries = text === null ? [] : parseList(text.toString("utf8"), listFile(archiveDir));
  if (entries.length > 0 && key?.length !== KEY_BYTES) {
    throw new DuckmirrorError("FORGOTTEN_UNREADABLE", {
      detail: `its key ${keyFile(archiveDir)} is missing or damaged`,
    });
  }
  // The list is written before its key, so it was there.
  if (text === null && key !== null) {
    throw new DuckmirrorError("FORGOTTEN_UNREADABLE", { detail: `${listFile(archiveDir)} is missing` });
  }
  return listOf(key?.length === KEY_BYTES ? key : randomBytes(KEY_BYTES), entries);
};

/** The same list with a key, which is created if missing. Call this before adding a contact. */
export const keyedForgotten = async (archiveDir: string): Promise<ForgottenList> => {
  const known = await readForgotten(archiveDir);
  const key = await readIfThere(keyFile(archiveDir));
  if (key?.length === KEY_BYTES) return known;
  const fresh = randomBytes(KEY_BYTES);
  // A list without a contact needs no key; a key without a list would mean that the list is lost.
  await writeForgotten(archiveDir, known.entries);
  await replaceFile(keyFile(archiveDir), fresh);
  return listOf(fresh, known.entries);
};

export const writeForgotten = (archiveDir: string, contacts: readonly ForgottenEntry[]): Promise<void> =>
  replaceFile(listFile(archiveDir), `${JSON.stringify({ version: 1, contacts }, null, 1)}\n`);

/** Throws FORGET_UNFINISHED while a contact is only partly erased. */
export const refuseUnfinished = (list: ForgottenList): void => {
  const pending = list.entries.filter(({ done }) => !done).length;
  if (pending > 0) throw new DuckmirrorError("FORGET_UNFINISHED", { contacts: pending });
};
