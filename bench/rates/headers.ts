// How services write their limits into headers: dialects, forms of the reset, rounding. Pure.
import type { Count } from "./services.ts";

export type Rounding = "up" | "down" | "nearest";
export type ResetForm = "delta" | "delta-fraction" | "epoch" | "epoch-ms" | "date";

export interface Dialect {
  /**
   * `structured`, `draft7` and `legacy` announce the window; `x` does not; `policy` announces nothing but the window;
   * `none` is silent.
   */
  readonly names: "structured" | "draft7" | "legacy" | "policy" | "x" | "none";
  readonly reset: ResetForm;
  readonly rounding: Rounding;
  /** `before`: the remaining requests as they were before this one. */
  readonly counted: "after" | "before";
  readonly retryAfter: boolean;
  /** The answer carries the service's clock. */
  readonly date: boolean;
}

/** Announces everything. */
export const TELLS: Dialect = {
  names: "structured",
  reset: "delta",
  rounding: "up",
  counted: "after",
  retryAfter: true,
  date: true,
};
/** Announces nothing but the time of a retry. */
export const SILENT: Dialect = { ...TELLS, names: "none" };

const ROUND = { up: Math.ceil, down: Math.floor, nearest: Math.round } as const;

const resetText = (at: number, now: number, { reset, rounding }: Dialect): string => {
  const round = ROUND[rounding];
  const delta = Math.max(0, at - now) / 1000;
  switch (reset) {
    case "delta":
      return String(round(delta));
    case "delta-fraction":
      return delta.toFixed(3);
    case "epoch":
      return String(round(at / 1000));
    case "epoch-ms":
      return String(Math.round(at));
    case "date":
      return new Date(round(at / 1000) * 1000).toUTCString();
    default:
      return reset satisfies never;
  }
};

/** The headers of one answer; `now` is the service's clock. */
export const headersOf = (counts: readonly Count[], now: number, dialect: Dialect): Record<string, string> => {
  const refusing = counts.filter(({ allowed }) => !allowed);
  const retryAt = Math.max(...refusing.map(({ nextAt }) => nextAt));
  const tightest = counts.reduce((a, b) => (b.remaining < a.remaining ? b : a));
  const { limit, windowMs, allowed } = tightest;
  const left = ({ remaining, allowed: went }: Count) => remaining + (dialect.counted === "before" && went ? 1 : 0);
  const reset = resetText(tightest.resetsAt, now, dialect);
  const delta = (count: Count) => resetText(count.resetsAt, now, { ...dialect, reset: "delta" });
  const seconds = windowMs / 1000;
  const common = {
    ...(dialect.date ? { date: new Date(now).toUTCString() } : {}),
    ...(dialect.retryAfter && !allowed
      ? { "retry-after": String(Math.max(1, Math.ceil((retryAt - now) / 1000))) }
      : {}),
  };
  const policy = counts.map((count, n) => `"p${n}";q=${count.limit};w=${count.windowMs / 1000}`).join(", ");
  switch (dialect.names) {
    case "structured":
      return {
        ...common,
        "ratelimit-policy": policy,
        ratelimit: counts.map((count, n) => `"p${n}";r=${left(count)};t=${delta(count)}`).join(", "),
      };
    case "policy":
      return { ...common, "ratelimit-policy": policy };
    case "draft7":
      return {
        ...common,
        "ratelimit-policy": counts.map((count) => `${count.limit};w=${count.windowMs / 1000}`).join(", "),
        ratelimit: `limit=${limit}, remaining=${left(tightest)}, reset=${delta(tightest)}`,
      };
    case "legacy":
      return {
        ...common,
        "ratelimit-limit": `${limit}, ${limit};w=${seconds}`,
        "ratelimit-remaining": String(left(tightest)),
        "ratelimit-reset": delta(tightest),
      };
    case "x":
      return {
        ...common,
        "x-ratelimit-limit": String(limit),
        "x-ratelimit-remaining": String(left(tightest)),
        "x-ratelimit-reset": reset,
      };
    case "none":
      return common;
    default:
      return dialect.names satisfies never;
  }
};
