// Named keys of a server: a file beside the working database (0600) with their hashes, roles and ends. A key has 256
// random bits, so one SHA-256 is enough; the key itself is shown once, when it is created.
import { createHash, randomBytes } from "node:crypto";
import { open, readFile, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../core/clock.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { assertOwnFile, makeOwnFolder } from "../../core/own-files.ts";
import { Secret } from "../../core/secret.ts";

/** How the text of every key that is made here starts. */
export const KEY_START = "dm_";

/** Rights of a key: `metrics` only /metrics, `read` everything that changes nothing, `operate` everything. */
export const ROLES = ["read", "operate", "metrics"] as const;
export type Role = (typeof ROLES)[number];

const storedKeySchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  /** SHA-256 of the key, hex. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** ms since the epoch, as below. */
  created_at: z.number(),
  expires_at: z.number().nullable(),
  revoked_at: z.number().nullable(),
});
export type StoredKey = z.output<typeof storedKeySchema>;
const fileSchema = z.strictObject({ v: z.literal(1), keys: z.array(storedKeySchema) });

export const keysPath = (dataDir: string): string => join(dataDir, "state", "keys.json");

export const hashOfKey = (text: string): string => createHash("sha256").update(text).digest("hex");

export const stateOf = (key: StoredKey, now: number): "active" | "expired" | "revoked" => {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && key.expires_at <= now ? "expired" : "active";
};

/** The keys in the file's text. Throws CONFIG_INVALID: if the keys cannot be read, nobody gets access. */
export const parseKeys = (path: string, text: string): readonly StoredKey[] => {
  try {
    return fileSchema.parse(JSON.parse(text)).keys;
  } catch (cause) {
    const detail = `${path} is no list of keys that this version reads`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail }, { cause });
  }
};

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;

/** Every key ever created here, including revoked ones. Throws CONFIG_INVALID. */
export const readKeys = async (path: string): Promise<readonly StoredKey[]> => {
  let text: string;
  try {
    assertOwnFile(path);
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return [];
    throw new DuckmirrorError("CONFIG_INVALID", { detail: `${path} cannot be read: ${detailOf(cause)}` }, { cause });
  }
  return parseKeys(path, text);
};

const WAIT_MS = 20;
const MOST_WAITS = 100;

/** The file that will replace the keys; while it exists, no other process changes them. */
const openNext = async (path: string) => {
  makeOwnFolder(dirname(path));
  for (let waits = 0; ; waits++) {
    try {
      return await open(path, "wx", 0o600);
    } catch (error) {
      if (!isCode(error, "EEXIST") || waits >= MOST_WAITS) throw error;
      await systemClock.sleep(WAIT_MS);
    }
  }
};

/** Changes the file atomically. Throws the errors of `change`, CONFIG_INVALID and DATA_DIR_UNWRITABLE. */
const changeKeys = async (
  path: string,
  change: (keys: readonly StoredKey[]) => readonly StoredKey[],
): Promise<void> => {
  const next = `${path}.next`;
  const unwritable = (cause: unknown) =>
    new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dirname(path), detail: detailOf(cause) }, { cause });
  const file = await openNext(next).catch((cause: unknown) => {
    throw cause instanceof DuckmirrorError ? cause : unwritable(cause);
  });
  try {
    const keys = change(await readKeys(path));
    await file.writeFile(`${JSON.stringify({ v: 1, keys }, null, 2)}\n`);
    await file.sync();
    await file.close();
    await rename(next, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(next).catch(() => undefined);
    throw error instanceof DuckmirrorError ? error : unwritable(error);
  }
};

export interface KeyWish {
  readonly name: string;
  readonly role: Role;
  /** ms since the epoch; null: valid until revoked. */
  readonly expiresAt: number | null;
}

/** Creates a key. Throws USAGE when an active key has the name. */
export const addKey = async (path: string, { name, role, expiresAt }: KeyWish, now: number): Promise<Secret> => {
  const secret = `${KEY_START}${randomBytes(32).toString("base64url")}`;
  const id = randomBytes(6).toString("hex");
  const hash = hashOfKey(secret);
  await changeKeys(path, (keys) => {
    if (keys.some((key) => key.name === name && stateOf(key, now) === "active")) {
      throw new DuckmirrorError("USAGE", { detail: `there is a key named ${name}; revoke it first` });
    }
    return [...keys, { id, name, role, hash, created_at: now, expires_at: expiresAt, revoked_at: null }];
  });
  return new Secret(secret);
};

/** Revokes every active key of that name. Throws USAGE when there is none. */
export const revokeKey = (path: string, name: string, now: number): Promise<void> =>
  changeKeys(path, (keys) => {
    const meant = (key: StoredKey) => key.name === name && key.revoked_at === null;
    if (!keys.some(meant)) throw new DuckmirrorError("USAGE", { detail: `there is no key named ${name}` });
    return keys.map((key) => (meant(key) ? { ...key, revoked_at: now } : key));
  });
