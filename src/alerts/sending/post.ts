// Posts one message of an alert rule to its receiver, signed, and judges the response. To public addresses only, unless the rule allows
// others; connects to the address that it checked, so that a name cannot resolve to another one in between. Follows no redirect, uses no
// proxy.
import { createHmac } from "node:crypto";
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { Agent } from "undici";
import { detailOf } from "../../core/errors.ts";
import { headerTimeMs } from "../../core/time.ts";

// Decides what follows from an attempt to send a message; no other file does. Pure.

/** How an attempt ended. `away`: no answer, with the reason. */
export type Attempt =
  | { readonly kind: "answer"; readonly status: number; readonly retryAfter: string | null }
  | { readonly kind: "away"; readonly detail: string };

type Verdict =
  | { readonly kind: "sent" }
  | { readonly kind: "retry"; readonly nextAt: number; readonly detail: string }
  /** Never taken: a dead letter. */
  | { readonly kind: "dead"; readonly detail: string }
  /** The receiver wants no more messages. */
  | { readonly kind: "gone"; readonly detail: string };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Wait after the first, second, … failed attempt, ms; after more, the last one. */
const WAITS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR];
const LONGEST_WAIT_MS = 24 * HOUR;
/** Share by which a wait is longer, by chance, so that many senders do not come back at once. */
const JITTER = 0.2;
/** Age from which a message is given up, and its least attempts. */
export const GIVE_UP_MS = 3 * 24 * HOUR;
const LEAST_ATTEMPTS = 3;

/**
 * Whether the next attempt is due. A time farther away than any wait was set by a clock that has been corrected since. Times:
 * ms since the epoch.
 */
export const isAttemptDue = (nextAt: number, now: number): boolean => nextAt <= now || nextAt > now + LONGEST_WAIT_MS;

/** Time that Retry-After names, seconds or a date, as ms since the epoch; null: none. */
const retryTime = (text: string | null, now: number): number | null => {
  const bare = text?.trim() ?? "";
  const at = /^\d{1,9}$/.test(bare) ? now + Number(bare) * SECOND : headerTimeMs(bare);
  return at === null ? null : Math.min(at, now + LONGEST_WAIT_MS);
};

const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 425 || status === 429;

/**
 * Verdict on attempt number `attempts` (1-based) of a message made at `madeAt`. The wait is never under Retry-After;
 * `random` in [0, 1) adds jitter. Times: ms since the epoch.
 */
export const verdictOf = (
  attempt: Attempt,
  { attempts, madeAt, now, random }: { attempts: number; madeAt: number; now: number; random: number },
): Verdict => {
  if (attempt.kind === "answer" && attempt.status >= 200 && attempt.status < 300) return { kind: "sent" };
  const detail = attempt.kind === "away" ? attempt.detail : `it answered ${attempt.status}`;
  if (attempt.kind === "answer" && attempt.status === 410) return { kind: "gone", detail };
  if (attempt.kind === "answer" && !isTemporary(attempt.status)) {
    const redirects = attempt.status >= 300 && attempt.status < 400;
    return { kind: "dead", detail: redirects ? `${detail}; redirects are not followed` : detail };
  }
  if (now - madeAt >= GIVE_UP_MS && attempts >= LEAST_ATTEMPTS) return { kind: "dead", detail };
  const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length) - 1] ?? LONGEST_WAIT_MS;
  const ownAt = now + Math.round(wait * (1 + JITTER * random));
  const askedAt = attempt.kind === "answer" ? retryTime(attempt.retryAfter, now) : null;
  return { kind: "retry", nextAt: Math.max(ownAt, askedAt ?? 0), detail };
};

// Signs messages as the Standard Webhooks specification says. Pure.
// Source: https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.

const PREFIX = "whsec_";
/** Bytes of a secret. */
const LEAST_KEY_BYTES = 24;
const MOST_KEY_BYTES = 64;

/** Keys of the secrets in a text, separated by spaces; null: one of them is no secret. */
export const keysIn = (text: string): readonly Buffer[] | null => {
  const secrets = text.split(/\s+/).filter((secret) => secret !== "");
  const keys = secrets.map((secret) => {
    const base64 = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
    const key = Buffer.from(base64, "base64");
    const isWhole =
      /^[A-Za-z0-9+/]+={0,2}$/.test(base64) && key.length >= LEAST_KEY_BYTES && key.length <= MOST_KEY_BYTES;
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

// Distinguishes public network addresses from private and special ones: messages go only to public ones unless a rule allows more. Pure.
// Source: IANA's registries of special-purpose IPv4 and IPv6 addresses.

const special = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved and broadcast.
  ["224.0.0.0", 3],
] as const) {
  special.addSubnet(net, bits, "ipv4");
}
// Azure's metadata service, although the address is in no private range.
special.addAddress("168.63.129.16", "ipv4");
for (const [net, bits] of [
  // Protocol assignments, with Teredo, which carries IPv4 addresses.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4 carries IPv4 addresses.
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  special.addSubnet(net, bits, "ipv6");
}

/** Addresses of IPv6 that are routed; all others are loopback, local, mapped IPv4, translated or reserved. */
const routed = new BlockList();
routed.addSubnet("2000::", 3, "ipv6");

/** False for private, loopback, link-local, metadata and reserved addresses, and for a text that is no address. */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  return family === 6 && routed.check(address, "ipv6") && !special.check(address, "ipv6");
};

const CONNECT_MS = 10_000;
const TOTAL_MS = 30_000;
/** A longer answer is not read to its end. */
const MOST_BYTES = 64 * 1024;

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
}

/** Resolves names; replaced in tests. */
export type Resolve = LookupFunction;

const privateError = (host: string, address: string): Error =>
  new Error(`${host} is the private address ${address}, and the rule does not set allow_private`);

/** Resolves a name, and fails where one of its addresses is private. */
const publicOnly =
  (resolve: Resolve): LookupFunction =>
  (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const refused = addresses.find(({ address }) => !isPublicAddress(address));
      if (refused !== undefined) return callback(privateError(hostname, refused.address), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });

/** Why the address cannot be used; null: it can, as far as it names no host that must be resolved. */
const problemOf = (text: string, allowPrivate: boolean): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return "its address is no http address";
  if (url.username !== "" || url.password !== "") return "its address holds a user name or password";
  if (allowPrivate) return null;
  if (url.protocol !== "https:")
    return "its address does not begin with https, and the rule does not set allow_private";
  // A literal address is not resolved.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) !== 0 && !isPublicAddress(host) ? privateError(host, host).message : null;
};

/** Node says nothing where several addresses failed. */
const reasonOf = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(detailOf).join(", ") : detailOf(error);

/** Sends it once. Throws the reason of `signal` only. The detail never holds the address beyond its host. */
export const postOnce = async (post: Post, resolve: Resolve = systemLookup): Promise<Attempt> => {
  const { url, headers, body, allowPrivate, signal } = post;
  signal.throwIfAborted();
  const problem = problemOf(url, allowPrivate);
  if (problem !== null) return { kind: "away", detail: problem };
  const lookup = allowPrivate ? resolve : publicOnly(resolve);
  const agent = new Agent({ connect: { timeout: CONNECT_MS, lookup }, pipelining: 0 });
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)]);
    const { origin, pathname, search } = new URL(url);
    const path = `${pathname}${search}`;
    const answer = await agent.request({ origin, path, method: "POST", headers, body, signal: limited });
    await answer.body.dump({ limit: MOST_BYTES }).catch(() => undefined);
    const retryAfter = answer.headers["retry-after"];
    return {
      kind: "answer",
      status: answer.statusCode,
      retryAfter: typeof retryAfter === "string" ? retryAfter : null,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "away", detail: reasonOf(error) };
  } finally {
    await agent.destroy();
  }
};
