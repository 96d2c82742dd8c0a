// Decides, from the headers of a request, whether it may pass: bearer key or session cookie, rights of the key's role, same origin for
// requests that change or cost something, and this machine's host names (a name that an attacker points here is refused). Pure.
import { isLoopbackHost } from "../../core/config/setting-parsers.ts";
import type { KeyHolder, Keyring, Role } from "./key-store.ts";
import { SESSION_MS, type Sessions } from "./sessions.ts";

export const COOKIE = "duckmirror_session";
/** Over https: a browser takes a cookie of this name only from this host, over https. */
export const HOST_COOKIE = `__Host-${COOKIE}`;
/** Cookies of the name that are tried: another site of the domain may have set some, too. */
const MOST_COOKIES = 8;

const cookieName = (secure: boolean): string => (secure ? HOST_COOKIE : COOKIE);

/** Set-Cookie; `value` null removes the session. */
export const cookieHeader = (value: string | null, secure: boolean): string =>
  [
    `${cookieName(secure)}=${value ?? ""}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${value === null ? 0 : SESSION_MS / 1000}`,
    ...(secure ? ["Secure"] : []),
  ].join("; ");

/** The sessions in a Cookie header. */
export const sessionsIn = ({ cookie = "", secure = false }: Pick<Asker, "cookie" | "secure">): readonly string[] => {
  const start = `${cookieName(secure)}=`;
  const found = cookie.split(";").map((part) => part.trim());
  return found
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length))
    .slice(0, MOST_COOKIES);
};

export interface Asker {
  /** The request came over https. */
  readonly secure?: boolean;
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
}

export type Admission =
  /** No key is required. */
  | { readonly by: "open" }
  | { readonly by: "bearer" | "session"; readonly holder: KeyHolder }
  /** `guessed`: the request had a wrong key. */
  | { readonly by: "nothing"; readonly guessed: boolean };

/** The access right that a request proves. */
export const admission = (asker: Asker, keyring: Keyring, sessions: Sessions, now: number): Admission => {
  if (!keyring.required()) return { by: "open" };
  const bearer = /^Bearer +(\S+)$/i.exec(asker.authorization ?? "")?.[1];
  if (bearer !== undefined) {
    const holder = keyring.holderOf(bearer, now);
    return holder === null ? { by: "nothing", guessed: true } : { by: "bearer", holder };
  }
  for (const session of sessionsIn(asker)) {
    const holder = sessions.find(session, now);
    if (holder !== null) return { by: "session", holder };
  }
  return { by: "nothing", guessed: false };
};

const SAFE = ["GET", "HEAD", "OPTIONS"];
/** Requests that only read, although their method may change something. */
const READS = ["/api/query", "/api/download", "/mcp"];

export const isSafe = (method: string): boolean => SAFE.includes(method);

/** The lowest role for a request. */
export const roleFor = (method: string, path: string): Role => {
  // Each role can log in, so each can log out.
  if (path === "/logout") return "metrics";
  if (!isSafe(method) && !READS.includes(path)) return "operate";
  return path === "/metrics" ? "metrics" : "read";
};

const RANK: Readonly<Record<Role, number>> = { metrics: 0, read: 1, operate: 2 };

export const allows = (role: Role, needed: Role): boolean => RANK[role] >= RANK[needed];

/** Paths whose responses need a read of the mirror: a page of another site must not make a browser request them. */
export const isCostly = (path: string): boolean =>
  /^\/(api|v1|profiles|metrics|mcp|snapshots|warehouse\.duckdb)(\/|$)/.test(path);

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** Whether a proxy forwarded the request, which may then come from anywhere. */
export const isForwarded = (headers: Readonly<Record<string, unknown>>): boolean =>
  FORWARDING.some((name) => headers[name] !== undefined);

/** Whether a request names two hosts: another program in front might read the other one (RFC 9112, section 3.2). */
export const hasTwoHosts = (rawHeaders: readonly string[]): boolean =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host").length > 1;

/** `127.0.0.1:8737` → `127.0.0.1`, `[::1]:80` → `::1`. */
const hostName = (host: string): string =>
  host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase();

/**
 * Whether a request without a key may have this Host header. A page of another site can point its own name at this
 * machine and read responses as its own (DNS rebinding); with a key it has no session under that name.
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
 * Whether a request that changes something comes from the server's own pages or from no browser. A browser sends an
 * origin with every such request, so a request without one comes from a program, which no page controls.
 */
export const isSameOrigin = ({ host, origin, site }: Provenance): boolean => {
  // The browser's own statement, if it sends one (https and this machine only).
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin === undefined) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
};

/** Rights of browsers for everything served here. */
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
  // Not `no-referrer`: a form would then send `null` as its origin, and a login could not be distinguished from a
  // forged one.
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};
