// Forecast of the requests and credits of a plan, per stream and in total, with reasons. Stored with the run, so that its error can be
// measured later. Pure.
import type { StreamName } from "../../../catalog/streams.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { SyncReport } from "../../../core/report/sync-report.ts";
import type { ScopeMode } from "../../list/state.ts";
import { type Candidate, type Context, DEFAULT_PAGE, expectedPageSize } from "../candidate.ts";
import { historyEntries } from "../organization.ts";
import { contentPerhaps } from "./content-prices.ts";
import { type FollowUp, followUpsOf, totalOf } from "./follow-up.ts";
import { daysSinceRead, NO_RATES, type Rates } from "./past-runs.ts";

export interface ForecastReason {
  readonly reason: string;
  readonly scopes: number;
}

export interface StreamForecast {
  readonly stream: StreamName;
  readonly scopes: number;
  /** Number of scopes that are lists; each other scope is one record. */
  readonly lists: number;
  /** Requests of the due work. */
  readonly due: number;
  /** Requests of work that is expected to follow in this sync only, not from changes; not whole. */
  readonly once: number;
  /** `due`, and what is expected to follow from the responses; `atLeast` when there may be more. */
  readonly requests: number;
  readonly atLeast: boolean;
  /** Requests for full content if the list turns out not to return it; 0: none, or it is known. */
  readonly perhaps: number;
  /**
   * The same as `requests` if pages hold no more rows than the default, with `perhaps`: larger where no answer has shown
   * a page's size, or whether the list returns content.
   */
  readonly most: number;
  /** Reasons and the number of scopes for each, most frequent first. */
  readonly because: readonly ForecastReason[];
}

export interface Forecast {
  readonly streams: readonly StreamForecast[];
  readonly requests: number;
  readonly atLeast: boolean;
  readonly most: number;
  /** Streams with due lists of unknown length. */
  readonly unknown: readonly StreamName[];
  /** Days since each list was last read, for learning from this run (past-runs.ts). */
  readonly days: ReadonlyMap<StreamName, number>;
}

const LIST_MODES: readonly ScopeMode[] = ["walk", "watermark", "filter", "known", "log"];

const reasonsOf = (due: readonly Candidate[], following: readonly FollowUp[]): readonly ForecastReason[] => {
  const reasons = new Map<string, number>();
  for (const { because } of due) reasons.set(because, (reasons.get(because) ?? 0) + 1);
  for (const { because, requests } of following) {
    if (Math.round(requests) > 0) reasons.set(because, (reasons.get(because) ?? 0) + Math.round(requests));
  }
  return [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, scopes]) => ({ reason, scopes }));
};

/** Further requests of a list if its pages hold the default number of rows; 0 where the size of its pages is known. */
const moreBySmallPages = (context: Context, { stream, scope, mode, requests }: Candidate): number => {
  if (requests === null || expectedPageSize(context, stream).known) return 0;
  const rows =
    mode === "log" ? historyEntries(context) : mode === "walk" && scope === "" ? totalOf(context, stream) : null;
  return rows === null ? 0 : Math.max(0, Math.ceil(rows / DEFAULT_PAGE) - requests);
};

const streamForecast = (
  context: Context,
  stream: StreamName,
  candidates: readonly Candidate[],
  following: readonly FollowUp[],
): StreamForecast => {
  const due = candidates.reduce((sum, candidate) => sum + (candidate.requests ?? 1), 0);
  const more = following.reduce((sum, { requests }) => sum + requests, 0);
  const requests = Math.round(due + more);
  const perhaps = candidates.some(({ mode }) => mode !== "detail") ? contentPerhaps(context, stream) : 0;
  return {
    stream,
    scopes: candidates.length,
    lists: candidates.filter(({ mode }) => LIST_MODES.includes(mode)).length,
    due,
    once: following.reduce((sum, follow) => sum + (follow.recurs ? 0 : follow.requests), 0),
    requests,
    atLeast: candidates.some((candidate) => candidate.requests === null),
    perhaps,
    most: requests + perhaps + candidates.reduce((sum, candidate) => sum + moreBySmallPages(context, candidate), 0),
    because: reasonsOf(candidates, following),
  };
};

/**
 * The forecast of a plan. Work that the sync discovers on its way is included where it can be foreseen: for accounts
 * whose number is known, and for changes at the rate of the last syncs.
 */
export const forecastOf = (context: Context, candidates: readonly Candidate[], rates: Rates = NO_RATES): Forecast => {
  const following = followUpsOf(context, candidates, rates);
  const names = [...candidates, ...following].map(({ stream }) => stream);
  const streams = [...new Set(names)]
    .map((stream) =>
      streamForecast(
        context,
        stream,
        candidates.filter((candidate) => candidate.stream === stream),
        following.filter((each) => each.stream === stream),
      ),
    )
    .filter(({ scopes, requests }) => scopes > 0 || requests > 0);
  return {
    streams,
    requests: streams.reduce((sum, stream) => sum + stream.requests, 0),
    atLeast: streams.some((stream) => stream.atLeast),
    most: streams.reduce((sum, stream) => sum + stream.most, 0),
    unknown: streams.filter((stream) => stream.atLeast).map(({ stream }) => stream),
    days: daysSinceRead(context.view),
  };
};

/** True when no single number is foreseen: a length, the size of pages or the way of content is not known. */
export const isRange = ({ atLeast, most, requests }: Forecast): boolean => atLeast || most > requests;

/** The forecast as stored with the run. `credits`: what the run is expected to spend within its allowance. */
export const forecastJson = ({ days, ...forecast }: Forecast, allowance: number | null): JsonObject => ({
  ...forecast,
  atLeast: isRange({ days, ...forecast }),
  credits: Math.min(forecast.requests, allowance ?? Infinity),
  days: Object.fromEntries(days),
  streams: forecast.streams.map((stream) => ({ ...stream, because: stream.because.map((reason) => ({ ...reason })) })),
});

// Error of a forecast, once its run has ended.

/** Forecast minus spent credits, in percent of the spent credits (at least one). */
export const errorPercent = (forecast: number, spent: number): number =>
  Math.round((1000 * (forecast - spent)) / Math.max(1, spent)) / 10;

/**
 * The forecast of a run beside what it spent, as stored with its report. The error is null where the two do not compare:
 * the length of a list or of its pages was unknown, or something other than the credits ended the run early.
 */
export const forecastErrorJson = (
  forecast: Forecast,
  allowance: number | null,
  { status, credits: { spent } }: Pick<SyncReport, "status" | "credits">,
  error: DuckmirrorError | null,
): JsonObject => {
  const credits = Math.min(forecast.requests, allowance ?? Infinity);
  const byCredits = error?.code === "BUDGET_SPENT" || error?.code === "QUOTA_SPENT";
  const compares = !isRange(forecast) && (status === "done" || (status === "stopped" && byCredits));
  return { credits, at_least: isRange(forecast), spent, error_percent: compares ? errorPercent(credits, spent) : null };
};
