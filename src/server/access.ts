// Who may ask, as pure decisions on headers: bearer key or session cookie, same origin for anything that changes
// something, and the host names this machine answers to (a name that an attacker points here is refused).
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { isLoopbackHost } from "../core/config/listen-address.ts";
import type { Secret } from "../core/secret.ts";

export const COOKIE = "duckmirror_session";
/** How long a login holds, in ms. */
export const SESSION_MS = 12 * 3_600_000;

const digest = (text: string) => createHash("sha256").update(text).digest();
/** Compares without telling by its time how much was right. */
export const sameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const seal = (key: Secret, expiresAt: number): string =>
  createHmac("sha256", key.reveal()).update(`session ${expiresAt}`).digest("base64url");

/** Value of the session cookie: when it ends, and a seal that only the key makes. */
export const sessionValue = (key: Secret, now: number): string => {
  const expiresAt = now + SESSION_MS;
  return `${expiresAt}.${seal(key, expiresAt)}`;
};

export const isSession = (key: Secret, value: string, now: number): boolean => {
  const [expires = "", sealed = ""] = value.split(".");
  if (!/^\d{1,15}$/.test(expires) || Number(expires) <= now) return false;
  return sameText(sealed, seal(key, Number(expires)));
};

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

const cookieOf = (header: string): string | undefined =>
  header
    .split(";")
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);

export interface Asker {
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
}

/** How a request shows that it may ask: null when it does not. Without a key everybody on this machine may. */
export const admission = (asker: Asker, key: Secret | null, now: number): "bearer" | "session" | "open" | null => {
  if (key === null) return "open";
  const bearer = /^Bearer +(\S+)$/i.exec(asker.authorization ?? "")?.[1];
  if (bearer !== undefined) return sameText(bearer, key.reveal()) ? "bearer" : null;
  const session = cookieOf(asker.cookie ?? "");
  return session !== undefined && isSession(key, session, now) ? "session" : null;
};

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
