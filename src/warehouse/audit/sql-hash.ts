// Hash of a statement's whole text, with a key of this data directory (`state/audit/key`): equal statements have equal
// hashes, and without the key nobody can test which address a statement named.
import { createHmac, randomBytes } from "node:crypto";
import { linkSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasSystemCode } from "../../core/errors.ts";
import { makeOwnFolder, readOwnSync, writeNewSync } from "../../core/files/own-files.ts";

const KEY_BYTES = 32;

const readKey = (file: string): Buffer | null => {
  try {
    return readOwnSync(file);
  } catch (error) {
    if (hasSystemCode(error, "ENOENT")) return null;
    throw error;
  }
};

/** The key; created if missing. Of two processes that create it at once, one wins, and both use that one's key. */
const keyOf = (dir: string): Buffer => {
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  const file = join(dir, "key");
  const known = readKey(file);
  if (known !== null) return known;
  const fresh = `${file}.${randomBytes(6).toString("hex")}`;
  writeNewSync(fresh, randomBytes(KEY_BYTES));
  try {
    linkSync(fresh, file);
  } catch (error) {
    if (!hasSystemCode(error, "EEXIST")) throw error;
  } finally {
    unlinkSync(fresh);
  }
  return readOwnSync(file);
};

/** HMAC-SHA-256 of the text, hex. `dir`: folder of the trail. Throws the error of the file system. */
export const sqlHash = (dir: string, sql: string): string => createHmac("sha256", keyOf(dir)).update(sql).digest("hex");
