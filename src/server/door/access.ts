// Who may ask, as pure decisions on headers: bearer key or session cookie, what a key's role allows, same origin for
// anything that changes or costs something, and the host names this machine answers to (a name that an attacker points
// here is refused).
import { isLoopbackHost } from "../../core/config/listen-address.ts";
import type { Role } from "./key-store.ts";
import type { KeyHolder, Keyring } from "./keyring.ts";
import { SESSION_MS, type Sessions } from "./sessions.ts";

export const COOKIE = "duckmirror_session";

/** Set-Cookie; `value` null takes the session away. */
export const cookieHeader = (value: string | null, secure: boolean): string =>
  [
    `${COOKIE}=${value ?? ""}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${value === null ? 0 : SESSION_MS / 1000}`,
    ...(secure ? ["Secure"] : []),
  ].join("; ");

/** The session in a Cookie header. */
export const cookieOf = (header: string): string | undefined =>
  header
    .split(";")
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);

export interface Asker {
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
}

export type Admission =
  /** No key is asked for. */
  | { readonly by: "open" }
  | { readonly by: "bearer" | "session"; readonly holder: KeyHolder }
  /** `guessed`: a key came, and it was a wrong one. */
  | { readonly by: "nothing"; readonly guessed: boolean };

/** How a request shows that it may ask. */
export const admission = (asker: Asker, keyring: Keyring, sessions: Sessions, now: number): Admission => {
  if (!keyring.required()) return { by: "open" };
  const bearer = /^Bearer +(\S+)$/i.exec(asker.authorization ?? "")?.[1];
  if (bearer !== undefined) {
    const holder = keyring.holderOf(bearer, now);
    return holder === null ? { by: "nothing", guessed: true } : { by: "bearer", holder };
  }
  const session = cookieOf(asker.cookie ?? "");
  const holder = session === undefined ? null : sessions.find(session, now);
  return holder === null ? { by: "nothing", guessed: false } : { by: "session", holder };
};

const SAFE = ["GET", "HEAD", "OPTIONS"];
/** Requests that only read, though their method may change something. */
const READS = ["/api/query", "/logout"];

export const isSafe = (method: string): boolean => SAFE.includes(method);

/** The least role that a request needs. */
export const roleFor = (method: string, path: string): Role => {
  if (!isSafe(method) && !READS.includes(path)) return "operate";
  return path === "/metrics" ? "metrics" : "read";
};

const RANK: Readonly<Record<Role, number>> = { metrics: 0, read: 1, operate: 2 };

export const allows = (role: Role, needed: Role): boolean => RANK[role] >= RANK[needed];

/** Paths whose answers cost a look at the mirror: a page elsewhere must not make a browser ask for them. */
export const isCostly = (path: string): boolean => /^\/(api|v1|profiles|metrics|queues)(\/|$)/.test(path);

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** Whether a proxy handed the request on: then it may come from anywhere. */
export const isForwarded = (headers: Readonly<Record<string, unknown>>): boolean =>
  FORWARDING.some((name) => headers[name] !== undefined);

/** `127.0.0.1:8737` → `127.0.0.1`, `[::1]:80` → `::1`. */
const hostName = (host: string): string =>
  host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase();

/**
 * Whether a request without a key may carry this Host header. A page elsewhere can point its own name at this machine
 * and then read answers as its own (DNS rebinding); with a key it has no session under that name.
 */
export const isOwnHost = (host: string | undefined, listenHost: string): boolean => {
  if (host === undefined) return false;
  const name = hostName(host);
  return isLoopbackHost(name) || name === listenHost;
};

export interface Provenance {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`. */
  readonly site?: string | undefined;
}

/**
 * Whether a request that changes something comes from the server's own pages or from no browser at all.
 * A browser names its origin with every such request, so one without comes from a program, which no page can steer.
 */
export const isSameOrigin = ({ host, origin, site }: Provenance): boolean => {
  // The browser's own word, where it gives it (https and this machine only).
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin === undefined) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
};

/** What a browser may do with anything served here. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not `no-referrer`: a form would then name its origin as `null`, and no login could be told from a forged one.
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};
