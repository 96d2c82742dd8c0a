// Rate-limit headers in common dialects; API.md does not name its headers. PURE.
import { type RateReading, WINDOW_MS } from "./rate-window.ts";

export const RATE_DIALECTS = ["ratelimit", "ratelimit-legacy", "x-ratelimit", "none"] as const;
type RateDialect = (typeof RATE_DIALECTS)[number];

/** Form of a time: seconds from now, seconds or milliseconds since the epoch, HTTP date. */
export const RESET_FORMS = ["delta", "epoch", "epoch-ms", "date"] as const;
type ResetForm = (typeof RESET_FORMS)[number];

export interface RateHeaderOptions {
  readonly dialect: RateDialect;
  /** For `x-ratelimit`; the other dialects define seconds from now. */
  readonly reset: ResetForm;
  readonly retryAfter: "seconds" | "date" | "none";
}

const seconds = (ms: number): string => String(Math.max(0, Math.ceil(ms / 1000)));

const moment = (at: number, now: number, form: ResetForm): string => {
  switch (form) {
    case "delta":
      return seconds(at - now);
    case "epoch":
      return String(Math.ceil(at / 1000));
    case "epoch-ms":
      return String(Math.ceil(at));
    case "date":
      return new Date(Math.ceil(at / 1000) * 1000).toUTCString();
    default: {
      const never: never = form;
      return never;
    }
  }
};

const dialectHeaders = (reading: RateReading, now: number, options: RateHeaderOptions): Record<string, string> => {
  const { limit, remaining, resetsAt } = reading;
  const window = WINDOW_MS / 1000;
  switch (options.dialect) {
    case "ratelimit":
      return {
        "ratelimit-policy": `"default";q=${limit};w=${window}`,
        ratelimit: `"default";r=${remaining};t=${seconds(resetsAt - now)}`,
      };
    case "ratelimit-legacy":
      return {
        "ratelimit-limit": String(limit),
        "ratelimit-remaining": String(remaining),
        "ratelimit-reset": seconds(resetsAt - now),
        "ratelimit-policy": `${limit};w=${window}`,
      };
    case "x-ratelimit":
      return {
        "x-ratelimit-limit": String(limit),
        "x-ratelimit-remaining": String(remaining),
        "x-ratelimit-reset": moment(resetsAt, now, options.reset),
      };
    case "none":
      return {};
    default: {
      const never: never = options.dialect;
      return never;
    }
  }
};

/** Headers of one response; `now` in ms since the epoch. Retry-After only when the request was refused. */
export const rateHeaders = (reading: RateReading, now: number, options: RateHeaderOptions): Record<string, string> => {
  const headers = dialectHeaders(reading, now, options);
  if (reading.allowed || options.retryAfter === "none") return headers;
  const form = options.retryAfter === "seconds" ? "delta" : "date";
  // At least a second: a client that waits 0 s would return at once and be refused again.
  const at = Math.max(reading.resetsAt, now + 1000);
  return { ...headers, "retry-after": moment(at, now, form) };
};
