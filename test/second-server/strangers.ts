// What strangers' services do that no page of API.md hints at, drawn for one service: limits that are no rate, records that
// leave their list, routes that are forbidden, lists that end at a window, counts that vary, details that come late.
import type { Fields } from "./json-text.ts";
import { type Chance, chanceOf, hashOf } from "./random.ts";

const HOUR_MS = 3_600_000;

/** Routes that a token may lack, as the log of the service names them, and the streams that need each. */
export const NEEDED_FOR: Readonly<Record<string, readonly string[]>> = {
  contacts: ["contacts"],
  signals: ["signals"],
  "account-insights": ["account_insights"],
  "news-articles": ["news_articles"],
  "job-openings": ["job_openings"],
  "earnings-calls": ["earnings_calls"],
  filings: ["filings"],
  company: ["companies"],
  "by-input": ["companies", "news_articles", "job_openings", "earnings_calls", "filings"],
  "signals/counts": ["signal_counts"],
  "signals/{id}": ["signals"],
  "contacts/{id}": ["contacts"],
  "usage/requests": ["usage"],
  "usage/limits": ["usage"],
};
const [first = "", ...others] = Object.keys(NEEDED_FOR);
const ROUTES = [first, ...others] as const;

/** What a record that left its list answers by its id. `another`: with the record that it was merged into. */
export type Leavers = "gone" | "moved" | "archived" | "another";

const limitsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/strangers/limits`);
  return {
    /** Most requests in flight. */
    atOnce: chance.often(0.12) ? chance.pick([1, 2, 4, 8]) : null,
    /** Most requests at once of a bucket that the announced rate fills. */
    burst: chance.often(0.12) ? chance.pick([3, 5, 10, 20]) : null,
    /** Do refusals of these limits name a wait? */
    namesWait: chance.often(0.5),
    /** `zeros`, `said`: two ways to say that the plan has no limit. */
    plan: chance.weigh<"counted" | "zeros" | "said">([8, "counted"], [1, "zeros"], [1, "said"]),
  };
};

const recordsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/strangers/records`);
  return {
    leavers: chance.weigh<Leavers>([6, "gone"], [1, "moved"], [1, "archived"], [1, "another"]),
    /** Companies are merged into others: their own routes answer 301 or as what is not there. */
    merges: chance.often(0.15),
    companiesMove: chance.often(0.2),
    /** Content of a signal is served so long after the signal is listed, ms. */
    lateMs: chance.often(0.12) ? chance.pick([HOUR_MS / 3, 26 * HOUR_MS]) : 0,
    /** Numbers that are text are written as `86.80`. */
    zeros: chance.often(0.3),
    rawControls: chance.often(0.1),
  };
};

const listsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/strangers/lists`);
  return {
    /** Lists end at so many rows; `counted`: with their true count. */
    window: chance.often(0.08) ? { rows: chance.pick([50, 100]), counted: chance.often(0.5) } : null,
    estimates: chance.often(0.08),
    forbidden: chance.often(0.14) ? chance.pick(ROUTES) : null,
    /** Only while the service is restless. */
    forbiddenForNow: chance.often(0.4),
  };
};

/** Drawn apart, so that a seed keeps its other traits. */
export const strangersOf = (seed: string) => {
  const chance = chanceOf(`${seed}/strangers`);
  return {
    /** Accounts embed companies with three fields. */
    embedsShort: chance.often(0.2),
    /** Status of what is not there. */
    notFound: chance.pick([404, 404, 410]),
    /** Share of answers with 200, while the service is restless, whose body says that they failed. */
    errorBodies: chance.pick([0, 0, 0.05]),
    errorBody: chance.pick(["status", "success", "error", "ok", "found", "code"] as const),
    ...limitsOf(seed),
    ...recordsOf(seed),
    ...listsOf(seed),
    /** Share of answers, while the service is restless, that are one of these. */
    oddities: chanceOf(`${seed}/strangers/oddities`).pick([0, 0, 0, 0.04]),
    /** Our own clock is so far ahead in one sync, ms. */
    clockAheadMs: chanceOf(`${seed}/strangers/clock`).weigh(
      [8, 0],
      [1, HOUR_MS],
      [1, 26 * HOUR_MS],
      [1, 240 * HOUR_MS],
      [1, -5 * HOUR_MS],
    ),
  };
};
export type Strangers = ReturnType<typeof strangersOf>;

/** A refusal for speed that waits for something else than the rate; a long one; headers that no client takes. */
export type Oddity = "none" | "403-wait" | "429-long" | "headers";

export const drawOddity = ({ oddities }: Strangers, chance: Chance): Oddity =>
  chance.often(oddities) ? chance.pick(["403-wait", "429-long", "headers"]) : "none";

/** Counts of this list, or of another one, that differ with every answer. */
export const estimated = (count: number, { estimates }: Strangers, answer: string): number => {
  if (!estimates || count < 10) return count;
  const share = (hashOf(answer) % 7) - 3;
  return count + Math.sign(share) * Math.ceil((count * Math.abs(share)) / 100);
};

export interface OwnLimits {
  /** Which limit refuses a request that arrives now, `inFlight` with it. */
  refuses(now: number, inFlight: number): "at-once" | "burst" | null;
  headers(): Record<string, string>;
}

/** `perMs`: requests a millisecond that the announced rate allows. */
export const createOwnLimits = ({ atOnce, burst, namesWait }: Strangers, perMs: number): OwnLimits => {
  let [left, at] = [burst ?? 0, 0];
  return {
    refuses: (now, inFlight) => {
      if (atOnce !== null && inFlight > atOnce) return "at-once";
      if (burst === null) return null;
      left = Math.min(burst, left + (now - at) * perMs);
      at = now;
      if (left < 1) return "burst";
      left -= 1;
      return null;
    },
    headers: () => (namesWait ? { "Retry-After": "1" } : {}),
  };
};

/** The usage block of a plan without a limit, in two forms. */
export const unlimitedUsage = ({ plan }: Strangers): Fields | null => {
  if (plan === "counted") return null;
  return plan === "zeros" ? { limit: 0, used: 0, remaining: 0 } : { unlimited: true };
};
