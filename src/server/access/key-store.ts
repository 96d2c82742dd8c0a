// Stores and checks the keys of a server: the configured one and the named ones, which are in a file beside the working database (0600)
// with their hashes, roles and ends. Also proves to a client that the server knows its key. A key has 256 random bits, so that one SHA-256
// is enough; the key itself is shown once.
import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwnSync } from "../../core/files/own-files.ts";
import { Secret } from "../../core/secret.ts";
import { changeShared, parseShared, readShared, type SharedFile } from "../../core/state/shared-file.ts";

// A server's proof that it knows a client's key. The client asks for it before it sends the key, because another
// program may listen in the worker's place. A proof is valid for one random text and one port, so it cannot be used
// again, nor for a program on another port. It takes long to compute (scrypt), so that nobody finds a chosen key by
// trying many.

const derive = promisify<string, string, number, Buffer>(scrypt);

export const PROOF_PATH = "/key-proof";
export const nonceSchema = z.string().regex(/^[0-9a-f]{64}$/);
/** The server's answer: one proof for each of its valid keys. */
export const proofSchema = z.object({ salt: z.string(), proofs: z.array(z.string()) });
type Proof = z.output<typeof proofSchema>;

const proofOf = (derived: Buffer, port: number, nonce: string): string =>
  createHmac("sha256", derived).update(`duckmirror ${port} ${nonce}`).digest("hex");

/** Proves the server's keys. `port`: the one that the client called. */
export type Prover = (nonce: string, port: number, now: number) => Promise<Proof>;

export const createProver = (keyring: Keyring): Prover => {
  const salt = randomBytes(16).toString("hex");
  const derived = new Map<string, Promise<Buffer>>();
  return async (nonce, port, now) => {
    const hashes = keyring.hashes(now);
    for (const known of derived.keys()) if (!hashes.includes(known)) derived.delete(known);
    const proofs: string[] = [];
    for (const hash of hashes) {
      const key = derived.get(hash) ?? derive(hash, salt, 32);
      derived.set(hash, key);
      proofs.push(proofOf(await key, port, nonce));
    }
    return { salt, proofs };
  };
};

/** Whether one of the proofs is for this key. `port`: the one that was called. */
export const provesKey = async (
  { salt, proofs }: Proof,
  key: string,
  port: number,
  nonce: string,
): Promise<boolean> => {
  const wanted = proofOf(await derive(hashOfKey(key), salt, 32), port, nonce);
  return proofs.some((proof) => sameText(proof, wanted));
};

// Valid keys of the server: the configured one (role `operate`), and the named ones of the key file. The file is
// checked on each request, so an added or revoked key takes effect at once.

// Compares texts in constant time, so that the time does not show how much was right.

const digest = (text: string) => createHash("sha256").update(text).digest();

export const sameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

/** Holder of a key. */
export interface KeyHolder {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Secret that seals the holder's sessions: known only to the server and to readers of its files. */
  readonly sealedWith: string;
}

export interface Keyring {
  /** Whether a key is required. Once a named key was created, one is required even after the last is revoked. */
  required(): boolean;
  /** Holder of the key; null: unknown, or no longer valid. */
  holderOf(text: string, now: number): KeyHolder | null;
  /** SHA-256 of every valid key, hex. */
  hashes(now: number): readonly string[];
  /** Holder of a session; null: its key is no longer valid. */
  holder(id: string, now: number): KeyHolder | null;
}

/** Id of the configured key. */
const CONFIGURED = "server";

interface Kept {
  readonly mark: string;
  /** null: the file is unreadable. */
  readonly keys: readonly StoredKey[] | null;
}

/** `path`: the key file; null: none. `onFault` is called once per unreadable version of it; its keys are then invalid. */
export const createKeyring = (
  configured: Secret | null,
  path: string | null,
  onFault: (error: unknown) => void,
): Keyring => {
  let kept: Kept = { mark: "", keys: [] };

  const stored = (): readonly StoredKey[] | null => {
    if (path === null) return [];
    const file = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    // If this process has read the file and it is gone, named keys are invalid until a restart.
    if (file === undefined) return kept.mark === "" ? [] : null;
    const mark = `${file.ino}-${file.size}-${file.mtimeNs}`;
    if (mark === kept.mark) return kept.keys;
    try {
      kept = { mark, keys: parseKeys(path, readOwnSync(path).toString("utf8")) };
    } catch (error) {
      kept = { mark, keys: null };
      const detail = `${path}: ${detailOf(error)}`;
      onFault(error instanceof DuckmirrorError ? error : new DuckmirrorError("CONFIG_INVALID", { detail }));
    }
    return kept.keys;
  };
  const own: KeyHolder | null =
    configured === null
      ? null
      : { id: CONFIGURED, name: "server_key", role: "operate", sealedWith: configured.reveal() };
  const holding = ({ id, name, role, hash }: StoredKey): KeyHolder => ({ id, name, role, sealedWith: hash });
  const active = (matches: (key: StoredKey) => boolean, now: number): KeyHolder | null => {
    const found = stored()?.find((key) => matches(key) && stateOf(key, now) === "active");
    return found === undefined ? null : holding(found);
  };

  return {
    required: () => own !== null || stored()?.length !== 0,
    holderOf: (text, now) => {
      if (own !== null && sameText(text, own.sealedWith)) return own;
      const hash = hashOfKey(text);
      return active((key) => sameText(key.hash, hash), now);
    },
    hashes: (now) => [
      ...(own === null ? [] : [hashOfKey(own.sealedWith)]),
      ...(stored() ?? []).flatMap((key) => (stateOf(key, now) === "active" ? [key.hash] : [])),
    ],
    holder: (id, now) => (id === CONFIGURED ? own : active((key) => key.id === id, now)),
  };
};

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
