// Seals: authenticate the messages between loader and fetchers of one organization in Redis. An order is signed with
// HMAC-SHA-256; a response is encrypted and authenticated with AES-256-GCM. Both keys are derived from the
// organization's token (HKDF), which never enters Redis, so a program without the token can neither write nor read
// messages.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Seals {
  /** Signature of an order. */
  sign(order: string): string;
  isSignature(signature: string, order: string): boolean;
  /** Encrypts a text for one place, so that it cannot be moved to another. */
  lock(text: Buffer, place: string): Buffer;
  /** The text; null when it was not encrypted with this key for this place, or was changed. */
  unlock(locked: Buffer, place: string): Buffer | null;
}

/** `organization`: see organizationKey. */
export const createSeals = (token: Secret, organization: string): Seals => {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", token.reveal(), organization, `duckmirror ${purpose} 1`, KEY_BYTES));
  const orderKey = keyFor("orders");
  const answerKey = keyFor("answers");
  const mac = (order: string): Buffer => createHmac("sha256", orderKey).update(order).digest();

  return {
    sign: (order) => mac(order).toString("base64url"),
    isSignature: (signature, order) => {
      const given = Buffer.from(signature, "base64url");
      const right = mac(order);
      return given.length === right.length && timingSafeEqual(given, right);
    },
    lock: (plain, place) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", answerKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(place));
      const text = [cipher.update(plain), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...text]);
    },
    unlock: (locked, place) => {
      const head = NONCE_BYTES + TAG_BYTES;
      if (locked.length < head) return null;
      const nonce = locked.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", answerKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(locked.subarray(NONCE_BYTES, head));
      try {
        return Buffer.concat([decipher.update(locked.subarray(head)), decipher.final()]);
      } catch {
        return null;
      }
    },
  };
};
