// Keys that open the server's door: the configured one, which may do everything, and the named ones of the key file. The
// file is looked at with each request, so a key that is added or revoked counts at once.
import { readFileSync, statSync } from "node:fs";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { hashOfKey, parseKeys, type Role, type StoredKey, stateOf } from "./key-store.ts";
import { sameText } from "./same-text.ts";

/** Who a key belongs to. */
export interface KeyHolder {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** What the holder's sessions are sealed with: known to nobody but the server and who reads its files. */
  readonly sealedWith: string;
}

export interface Keyring {
  /** Whether a key is asked for. Once a key was made, revoking the last one opens the door to nobody. */
  required(): boolean;
  /** Whose key it is; null: nobody's, or it has ended. */
  holderOf(text: string, now: number): KeyHolder | null;
  /** The holder of a session; null: the key has ended. */
  holder(id: string, now: number): KeyHolder | null;
}

/** Id of the configured key. */
const CONFIGURED = "server";

interface Kept {
  readonly mark: string;
  /** null: the file cannot be read. */
  readonly keys: readonly StoredKey[] | null;
}

/** `path`: the key file; null: none. `onFault` hears once of a file that cannot be read; then no key of it counts. */
export const createKeyring = (
  configured: Secret | null,
  path: string | null,
  onFault: (error: unknown) => void,
): Keyring => {
  let kept: Kept = { mark: "", keys: [] };

  const stored = (): readonly StoredKey[] | null => {
    if (path === null) return [];
    const file = statSync(path, { throwIfNoEntry: false, bigint: true });
    // Where keys were, a missing file is no open door: none of them counts, and a restart is needed to do without.
    if (file === undefined) return kept.mark === "" ? [] : null;
    const mark = `${file.ino}-${file.size}-${file.mtimeNs}`;
    if (mark === kept.mark) return kept.keys;
    try {
      kept = { mark, keys: parseKeys(path, readFileSync(path, "utf8")) };
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
    holder: (id, now) => (id === CONFIGURED ? own : active((key) => key.id === id, now)),
  };
};
