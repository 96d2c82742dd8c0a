// Signs messages as the Standard Webhooks specification says. Pure.
// Source: https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
import { createHmac } from "node:crypto";

const PREFIX = "whsec_";
/** Bytes of a secret. */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** Keys of the secrets in a text, separated by spaces; null: one of them is no secret. */
export const keysIn = (text: string): readonly Buffer[] | null => {
  const secrets = text.split(/\s+/).filter((secret) => secret !== "");
  const keys = secrets.map((secret) => {
    const base64 = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
    const key = Buffer.from(base64, "base64");
    const isWhole = /^[A-Za-z0-9+/]+={0,2}$/.test(base64) && key.length >= LEAST_BYTES && key.length <= MOST_BYTES;
    return isWhole ? key : null;
  });
  const known = keys.filter((key) => key !== null);
  return known.length === secrets.length && known.length > 0 ? known : null;
};

/** Headers of a message; a signature per key, so that a secret can be changed without a gap. `now`: ms since the epoch. */
export const signedHeaders = (
  { id, body }: { readonly id: string; readonly body: string },
  keys: readonly Buffer[],
  now: number,
): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = keys.map(
    (key) => `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
  );
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
};
