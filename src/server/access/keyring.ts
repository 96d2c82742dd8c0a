// Valid keys of the server: the configured one (role `operate`), and the named ones of the key file. The file is
// checked on each request, so an added or revoked key takes effect at once.

import { createHash, timingSafeEqual } from "node:crypto";
import { lstatSync } from "node:fs";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readOwnSync } from "../../core/files/own-files.ts";
import type { Secret } from "../../core/secret.ts";
import { hashOfKey, parseKeys, type Role, type StoredKey, stateOf } from "./key-store.ts";

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
