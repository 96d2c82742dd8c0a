// Parses rate-limit headers of any dialect to one RateInfo. Pure; unintelligible headers count as absent.
// API.md, "Limits", says that responses carry such headers, without their names. Known here: RateLimit and
// RateLimit-Policy (both IETF drafts), RateLimit-Limit/-Remaining/-Reset, the same with X-, per-minute variants of
// gateways, and Retry-After.
import { headerTimeMs } from "../../core/time.ts";
import type { RateInfo } from "../outcome.ts";

// Parses lists of items with parameters, as in structured header fields: `"name";q=100;w=60, "other";q=5`. More
// tolerant than RFC 9651, because real headers are malformed. Pure.

interface StructuredItem {
  /** `limit` in `limit=100`; null for an item without a name. */
  readonly key: string | null;
  /** The item itself, without quotes. */
  readonly value: string;
  readonly params: ReadonlyMap<string, string>;
}

/** Splits at a separator outside quotes. */
const split = (text: string, separator: "," | ";"): string[] => {
  const parts: string[] = [];
  let quoted = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted && char === "\\") at += 1;
    else if (char === '"') quoted = !quoted;
    else if (char === separator && !quoted) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part !== "");
};

const unquote = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : text;

/** `name=value`, `name` or a bare value. */
const pair = (text: string): { readonly key: string | null; readonly value: string } => {
  const match = /^([A-Za-z*][\w.*-]*)\s*=\s*(.*)$/s.exec(text);
  return { key: match?.[1]?.toLowerCase() ?? null, value: unquote((match?.[2] ?? text).trim()) };
};

/** Items of a header, in order, without malformed ones. Throws nothing. */
const parseItems = (text: string): StructuredItem[] =>
  split(text, ",").flatMap((entry) => {
    const [head, ...tail] = split(entry, ";");
    if (head === undefined) return [];
    const params = new Map(tail.map(pair).flatMap(({ key, value }) => (key === null ? [] : [[key, value] as const])));
    return [{ ...pair(head), params }];
  });

/** Header names in lower case, as undici and Node give them. */
export type HeaderBag = Readonly<Record<string, string | string[] | undefined>>;

/** A window up to an hour is a rate; a limit per day or month is a quota, which the ledger handles. */
const LONGEST_RATE_WINDOW_MS = 3_600_000;
/** Longest credible wait in a header. */
const LONGEST_WAIT_MS = 31 * 86_400_000;
const MOST_REQUESTS = 1_000_000_000;

/** One limit in the headers. */
interface Reading {
  readonly limit: number | null;
  readonly windowMs: number | null;
  readonly remaining: number | null;
  readonly resetsAt: number | null;
}

const textOf = (headers: HeaderBag, name: string): string => {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(", ") : (value ?? "")).trim();
};

const count = (text: string | undefined): number | null => {
  if (text === undefined || !/^\d{1,15}(\.\d+)?$/.test(text.trim())) return null;
  const value = Math.floor(Number(text));
  return value <= MOST_REQUESTS ? value : null;
};

/** A limit of zero is not credible: `remaining` is the way to express it. */
const limitOf = (text: string | undefined): number | null => count(text) || null;

const clamp = (at: number, now: number): number => Math.min(Math.max(at, now), now + LONGEST_WAIT_MS);

/**
 * A time as seconds from now, epoch seconds, epoch milliseconds or a date, distinguished by magnitude. It is measured
 * against the service's Date header (`serverNow`) and moved to our clock, so that a wrong clock here causes no wait.
 */
const moment = (text: string, now: number, serverNow: number): number | null => {
  const bare = text.trim();
  if (/^\d{1,15}(\.\d+)?$/.test(bare)) {
    const value = Number(bare);
    if (value < 1e9) return clamp(now + value * 1000, now);
    const at = value < 1e11 ? value * 1000 : value;
    return clamp(now + (at - serverNow), now);
  }
  const at = headerTimeMs(bare);
  return at === null ? null : clamp(now + (at - serverNow), now);
};

/** Retry-After is in seconds (RFC 9110), so a number that would be a time long ago is one of seconds, too. */
const retryMoment = (text: string, now: number, serverNow: number): number | null => {
  const isPast = /^\d{10}$/.test(text) && Number(text) * 1000 < serverNow - LONGEST_WAIT_MS;
  return isPast ? clamp(now + Number(text) * 1000, now) : moment(text, now, serverNow);
};

const seconds = (text: string | undefined): number | null => {
  if (text === undefined || !/^\d{1,10}(\.\d+)?$/.test(text.trim())) return null;
  const ms = Math.round(Number(text) * 1000);
  return ms === 0 ? null : ms;
};

/** A limit on anything else (such as bytes) is of another kind. */
const countsRequests = (item: StructuredItem) => (item.params.get("qu") ?? "requests") === "requests";

interface Policy {
  readonly name: string;
  readonly limit: number | null;
  readonly windowMs: number | null;
}

/** `"name";q=100;w=60` (drafts from 8 on) or `100;w=60` (drafts 5 to 7, and after the figure of RateLimit-Limit). */
const policiesIn = (text: string): Policy[] =>
  parseItems(text)
    .filter(countsRequests)
    .map((item) => ({
      name: item.value,
      limit: limitOf(item.params.get("q") ?? item.value),
      windowMs: seconds(item.params.get("w") ?? item.params.get("window")),
    }))
    .filter((policy) => policy.limit !== null);

/** RateLimit: `"name";r=50;t=30` (drafts from 8 on) or `limit=100, remaining=50, reset=30` (draft 7). */
const structured = (headers: HeaderBag, now: number, serverNow: number): Reading[] => {
  const policies = policiesIn(textOf(headers, "ratelimit-policy"));
  const items = parseItems(textOf(headers, "ratelimit")).filter(countsRequests);
  const at = (text: string | undefined) => (text === undefined ? null : moment(text, now, serverNow));
  const draft7 = new Map(items.flatMap((item) => [[item.key ?? "", item.value] as const, ...item.params]));
  if (draft7.has("limit") || draft7.has("remaining")) {
    const limit = limitOf(draft7.get("limit"));
    const policy = policies.find((candidate) => candidate.limit === limit);
    const current = { limit, remaining: count(draft7.get("remaining")), resetsAt: at(draft7.get("reset")) };
    const others = policies.filter((candidate) => candidate !== policy);
    return [{ ...current, windowMs: policy?.windowMs ?? null }, ...others.map(withoutState)];
  }
  const readings = items.map((item): Reading => {
    const named =
      policies.find((policy) => policy.name === item.value) ?? (policies.length === 1 ? policies[0] : undefined);
    return {
      limit: named?.limit ?? null,
      windowMs: named?.windowMs ?? null,
      remaining: count(item.params.get("r")),
      resetsAt: at(item.params.get("t")),
    };
  });
  const named = new Set(items.map((item) => item.value));
  const rest = policies.filter((policy) => !named.has(policy.name) && !(policies.length === 1 && items.length > 0));
  return [...readings, ...rest.map(withoutState)];
};

const withoutState = ({ limit, windowMs }: Policy): Reading => ({ limit, windowMs, remaining: null, resetsAt: null });

const PLAIN_PREFIXES = ["ratelimit", "x-ratelimit", "x-rate-limit"] as const;
const SUFFIXES = [
  ["", null],
  ["-second", 1_000],
  ["-minute", 60_000],
  ["-hour", 3_600_000],
] as const;

/** `<prefix>-Limit`, `-Remaining`, `-Reset`; the limit may carry its window: `100, 100;w=60`. */
const plain = (headers: HeaderBag, now: number, serverNow: number): Reading[] =>
  PLAIN_PREFIXES.flatMap((prefix) =>
    SUFFIXES.flatMap(([suffix, knownWindowMs]): Reading[] => {
      const limitText = textOf(headers, `${prefix}-limit${suffix}`);
      const remainingText = textOf(headers, `${prefix}-remaining${suffix}`);
      // Most of these headers are absent from every response.
      if (limitText === "" && remainingText === "") return [];
      const limits = policiesIn(limitText);
      const remaining = count(remainingText.split(",")[0]);
      const reset = textOf(headers, `${prefix}-reset${suffix}`);
      const resetsAt = moment(reset, now, serverNow);
      const [current, ...others] = limits;
      if (current === undefined && remaining === null) return [];
      const limit = current?.limit ?? null;
      const same = limits.find((policy) => policy.limit === limit && policy.windowMs !== null);
      const named = policiesIn(textOf(headers, "ratelimit-policy")).find((policy) => policy.limit === limit);
      const windowMs = knownWindowMs ?? same?.windowMs ?? named?.windowMs ?? null;
      const rest = others.filter((policy) => policy !== same).map(withoutState);
      return [{ limit, windowMs, remaining, resetsAt }, ...rest];
    }),
  );

const RATE_HEADER = /rate-?limit|^retry-after$/;

/** False: no header is about a rate, as in most answers of many services. */
const speaksOfRate = (headers: HeaderBag): boolean => {
  for (const name of Object.keys(headers)) if (RATE_HEADER.test(name)) return true;
  return false;
};

const saysSomething = ({ limit, remaining }: Reading): boolean => limit !== null || remaining !== null;

const isRate = ({ windowMs, resetsAt }: Reading, now: number): boolean =>
  windowMs === null
    ? resetsAt === null || resetsAt - now <= LONGEST_RATE_WINDOW_MS
    : windowMs <= LONGEST_RATE_WINDOW_MS;

/** Requests per ms that a limit allows; without a window it is per minute, as in API.md. */
const speed = ({ limit, windowMs }: Reading): number => (limit === null ? Infinity : limit / (windowMs ?? 60_000));

/** No requests left until `resetsAt`. */
const isUsedUp = ({ remaining }: Reading): boolean => remaining === 0;

/**
 * The slowest limit sets the rate and `remaining`. If another limit is used up, it sets the wait; of several, the one
 * with the longest wait.
 */
const combine = (readings: readonly Reading[]): Omit<RateInfo, "retryAt"> | null => {
  const [first] = readings;
  if (first === undefined) return null;
  const tellsMore = (a: Reading, b: Reading) => a.remaining === null && b.remaining !== null && speed(b) === speed(a);
  const slowest = readings.reduce((a, b) => (speed(b) < speed(a) || tellsMore(a, b) ? b : a), first);
  const [usedUp] = readings.filter(isUsedUp).toSorted((a, b) => (b.resetsAt ?? 0) - (a.resetsAt ?? 0));
  const { remaining, resetsAt } = usedUp ?? slowest;
  const also = readings.flatMap((reading) => {
    const { limit, windowMs } = reading;
    const known = limit === slowest.limit && (windowMs === slowest.windowMs || slowest.windowMs === null);
    return known || limit === null || windowMs === null ? [] : [{ limit, windowMs }];
  });
  const { limit, windowMs } = slowest;
  return { limit, windowMs, remaining, resetsAt, ...(also.length > 0 ? { also } : {}) };
};

/** A limit per day or month with nothing left says when requests are welcome again, though it is no rate. */
const quotaUntil = (readings: readonly Reading[], now: number): number | null => {
  const moments = readings.flatMap((reading) =>
    isUsedUp(reading) && !isRate(reading, now) && reading.resetsAt !== null ? [reading.resetsAt] : [],
  );
  const latest = moments.length === 0 ? null : Math.max(...moments);
  return latest !== null && latest - now > LONGEST_RATE_WINDOW_MS ? latest : null;
};

/** A Date header has whole seconds, and its response took some time to arrive. */
const DATE_MS = 999;
const SAME_CLOCK_MS = 2_000;

const serverTime = (headers: HeaderBag, now: number): number => {
  const at = headerTimeMs(textOf(headers, "date"));
  if (at === null) return now;
  return now >= at && now - at < SAME_CLOCK_MS ? Math.min(now, at + DATE_MS) : at;
};

/**
 * Rate information in the headers, times in ms since the epoch; null when there is none. `retryAt` overrides the rest
 * (IETF draft, "RateLimit and Retry-After"). Limits per day or month are ignored, except that a used-up one sets
 * `retryAt`. Throws nothing, whatever the headers contain.
 */
export const parseRateHeaders = (headers: HeaderBag, now: number): RateInfo | null => {
  if (!speaksOfRate(headers)) return null;
  const serverNow = serverTime(headers, now);
  const said = [...structured(headers, now, serverNow), ...plain(headers, now, serverNow)];
  const retryAt = retryMoment(textOf(headers, "retry-after"), now, serverNow) ?? quotaUntil(said, now);
  const rate = combine(said.filter((reading) => saysSomething(reading) && isRate(reading, now)));
  if (rate === null && retryAt === null) return null;
  const nothing = { limit: null, windowMs: null, remaining: null, resetsAt: null };
  return { ...(rate ?? nothing), retryAt };
};
