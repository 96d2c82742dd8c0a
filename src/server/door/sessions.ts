// Sessions of people who logged in with a key: a cookie that names the key's holder and when it ends, sealed so that only
// the server makes one. It ends with its time, with a logout, or with its key.
import { createHmac, randomBytes } from "node:crypto";
import type { KeyHolder, Keyring } from "./keyring.ts";
import { sameText } from "./same-text.ts";

/** How long a login holds, in ms. */
export const SESSION_MS = 12 * 3_600_000;

const sealOf = (holder: KeyHolder, head: string): string =>
  createHmac("sha256", holder.sealedWith).update(`session ${head}`).digest("base64url");

export interface Sessions {
  /** Value of a new session's cookie. */
  open(holder: KeyHolder, now: number): string;
  /** Whose session it is; null: nobody's, or it has ended. */
  find(value: string, now: number): KeyHolder | null;
  /** A logout: the cookie opens nothing any more. Known until the server ends. */
  end(value: string, now: number): void;
}

export const createSessions = (keyring: Keyring): Sessions => {
  /** Sessions that were logged out of, and when they would have ended. */
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
