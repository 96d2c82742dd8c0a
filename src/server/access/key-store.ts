// Named keys of a server: a file beside the working database (0600) with their hashes, roles and ends. A key has 256
// random bits, so one SHA-256 is enough; the key itself is shown once, when it is created.
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { changeShared, parseShared, readShared, type SharedFile } from "../../core/state/shared-file.ts";

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

const fileOf = (path: string): SharedFile<z.output<typeof fileSchema>> => ({
  path,
  schema: fileSchema,
  holds: "list of keys",
  without: "its keys are no longer accepted, and others must be made (`duckmirror key add`)",
  empty: { v: 1, keys: [] },
});

/** The keys in the file's text. Throws STATE_FILE_DAMAGED: if the keys cannot be read, nobody gets access. */
export const parseKeys = (path: string, text: string): readonly StoredKey[] => parseShared(fileOf(path), text).keys;

/** Every key ever created here, including revoked ones. Throws STATE_FILE_DAMAGED. */
export const readKeys = async (path: string): Promise<readonly StoredKey[]> => (await readShared(fileOf(path))).keys;

/** Changes the keys. Throws the errors of `change`, CONFIG_INVALID and DATA_DIR_UNWRITABLE. */
const changeKeys = async (path: string, change: (keys: readonly StoredKey[]) => StoredKey[]): Promise<void> => {
  await changeShared(fileOf(path), ({ keys }) => ({ v: 1 as const, keys: change(keys) }));
};

export interface KeyWish {
  readonly name: string;
  readonly role: Role;
  /** ms since the epoch; null: valid until revoked. */
  readonly expiresAt: number | null;
}

/** Actors of the audit trail that are no keys: the configured key, and commands. */
const TAKEN = ["server_key", "local"];

/** Creates a key. Throws USAGE when an active key, or another actor of the audit trail, has the name. */
export const addKey = async (path: string, { name, role, expiresAt }: KeyWish, now: number): Promise<Secret> => {
  if (TAKEN.includes(name)) {
    throw new DuckmirrorError("USAGE", {
      detail: `the audit trail calls another actor ${name}: give the key another name`,
    });
  }
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
