// The service's rate limit: what it lets through, and the headers that say so.
import type { Traits } from "./traits.ts";

export interface RateWindow {
  /** Counts a request that arrives now; false: too fast. */
  admit(now: number): boolean;
  /** Headers of any answer. */
  headers(now: number): Record<string, string>;
  /** Headers of a refusal besides those. */
  refusalHeaders(now: number): Record<string, string>;
}

const SECOND_MS = 1_000;

export const createRateWindow = ({ rate }: Traits): RateWindow => {
  const { limit, windowMs, kind, dialect } = rate;
  let arrivals: number[] = [];
  let startedAt = 0;

  const windowStart = (now: number): number => {
    if (kind === "sliding") return now - windowMs;
    if (kind === "fixed") return Math.floor(now / windowMs) * windowMs - 1;
    if (now - startedAt >= windowMs) startedAt = now;
    return startedAt - 1;
  };
  const counted = (now: number): number => {
    const from = windowStart(now);
    arrivals = arrivals.filter((at) => at > from);
    return arrivals.length;
  };
  const resetAt = (now: number): number => {
    if (kind !== "sliding") return windowStart(now) + 1 + windowMs;
    return (arrivals[0] ?? now) + windowMs;
  };
  const secondsLeft = (now: number): number => Math.max(0, Math.ceil((resetAt(now) - now) / SECOND_MS));
  const seconds = windowMs / SECOND_MS;

  const headers = (now: number): Record<string, string> => {
    const left = String(Math.max(0, limit - counted(now)));
    const [delta, at] = [String(secondsLeft(now)), resetAt(now)];
    const x = (reset: string) => ({
      "X-RateLimit-Limit": String(limit),
      "X-RateLimit-Remaining": left,
      "X-RateLimit-Reset": reset,
    });
    switch (dialect) {
      case "draft-8":
        return { "RateLimit-Policy": `"plan";q=${limit};w=${seconds}`, RateLimit: `"plan";r=${left};t=${delta}` };
      case "draft-7":
        return {
          "RateLimit-Policy": `${limit};w=${seconds}`,
          RateLimit: `limit=${limit}, remaining=${left}, reset=${delta}`,
        };
      case "draft-6":
        return { "RateLimit-Limit": String(limit), "RateLimit-Remaining": left, "RateLimit-Reset": delta };
      case "draft-6-window":
        return {
          "RateLimit-Limit": `${limit}, ${limit};w=${seconds}`,
          "RateLimit-Remaining": left,
          "RateLimit-Reset": delta,
        };
      case "x-delta":
        return x(delta);
      case "x-epoch-seconds":
        return x(String(Math.ceil(at / SECOND_MS)));
      case "x-epoch-ms":
        return x(String(Math.ceil(at)));
      case "x-http-date":
        return x(new Date(Math.ceil(at / SECOND_MS) * SECOND_MS).toUTCString());
      case "x-without-reset":
        return { "X-RateLimit-Limit": String(limit), "X-RateLimit-Remaining": left };
      case "retry-after-only":
      case "none":
        return {};
      default:
        return dialect satisfies never;
    }
  };

  return {
    admit: (now) => {
      const admitted = counted(now) < limit;
      if (admitted || rate.refusedCount) arrivals.push(now);
      return admitted;
    },
    headers,
    refusalHeaders: (now) => {
      if (rate.retryAfter === "absent" || dialect === "none") return {};
      const inSeconds = Math.max(1, secondsLeft(now));
      const date = new Date(Math.ceil(resetAt(now) / SECOND_MS) * SECOND_MS).toUTCString();
      return { "Retry-After": rate.retryAfter === "date" ? date : String(inSeconds) };
    },
  };
};

/** Do the headers say limit and window, or remaining and reset, so that a client can keep the rate? */
export const announcesRate = ({ rate }: Traits): boolean =>
  !["retry-after-only", "none", "x-without-reset"].includes(rate.dialect);
