// Login sessions of the page: makes and checks a cookie with the key's holder and its end, sealed so that only the server can make it. A
// session ends at its time, by a logout, or with its key.
import { createHmac, randomBytes } from "node:crypto";
import { createMinuteSums, networkOf } from "./connection-limits.ts";
import { type KeyHolder, type Keyring, sameText } from "./key-store.ts";

// Counts wrong keys by network. The right key is always accepted, so nobody can lock others out;
// core/config/setting-parsers.ts ensures that a key is hard to guess.

/** Number of wrong keys from an address within a minute before it must wait. */
const MOST_WRONG = 20;

export interface Guesses {
  /** Records a wrong key from `address`; true: it has sent too many. */
  isTooMany(address: string, now: number): boolean;
}

export const createGuesses = (): Guesses => {
  const wrong = createMinuteSums();
  return { isTooMany: (address, now) => wrong.add(networkOf(address), 1, now) > MOST_WRONG };
};

/** Life of a login, ms. */
export const SESSION_MS = 12 * 3_600_000;

const sealOf = (holder: KeyHolder, head: string): string =>
  createHmac("sha256", holder.sealedWith).update(`session ${head}`).digest("base64url");

export interface Sessions {
  /** Value of a new session's cookie. */
  open(holder: KeyHolder, now: number): string;
  /** Holder of the session; null: unknown, or ended. */
  find(value: string, now: number): KeyHolder | null;
  /** Logs out: the cookie becomes invalid. Kept until the server ends. */
  end(value: string, now: number): void;
}

export const createSessions = (keyring: Keyring): Sessions => {
  /** Logged-out sessions, and the times when they would have ended. */
  const ended = new Map<string, number>();

  const read = (value: string, now: number) => {
    const [id = "", expires = "", nonce = "", seal = ""] = value.split(".");
    if (!/^\d{1,15}$/.test(expires) || Number(expires) <= now || ended.has(nonce)) return null;
    const holder = keyring.holder(id, now);
    if (holder === null || !sameText(seal, sealOf(holder, `${id}.${expires}.${nonce}`))) return null;
    return { holder, nonce, expiresAt: Number(expires) };
  };

  return {
    open: (holder, now) => {
      const head = `${holder.id}.${now + SESSION_MS}.${randomBytes(12).toString("hex")}`;
      return `${head}.${sealOf(holder, head)}`;
    },
    find: (value, now) => read(value, now)?.holder ?? null,
    end: (value, now) => {
      const session = read(value, now);
      if (session === null) return;
      for (const [nonce, until] of ended) if (until <= now) ended.delete(nonce);
      ended.set(session.nonce, session.expiresAt);
    },
  };
};
