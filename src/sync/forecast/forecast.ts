// Forecast of a plan's requests, per stream and in total. Pure. Stored with the run, so that its error can be
// measured.
import type { StreamName } from "../../catalog/streams.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Candidate, Context, ScopeMode } from "../plan/candidate.ts";
import { type FollowUp, followUpsOf } from "./follow-up.ts";
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
  /** `due`, and what is expected to follow from the responses; `atLeast` when there may be more. */
  readonly requests: number;
  readonly atLeast: boolean;
  /** Reasons and the number of scopes for each, most frequent first. */
  readonly because: readonly ForecastReason[];
}

export interface Forecast {
  readonly streams: readonly StreamForecast[];
  readonly requests: number;
  readonly atLeast: boolean;
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

const streamForecast = (
  stream: StreamName,
  candidates: readonly Candidate[],
  following: readonly FollowUp[],
): StreamForecast => {
  const due = candidates.reduce((sum, candidate) => sum + (candidate.requests ?? 1), 0);
  const more = following.reduce((sum, { requests }) => sum + requests, 0);
  return {
    stream,
    scopes: candidates.length,
    lists: candidates.filter(({ mode }) => LIST_MODES.includes(mode)).length,
    due,
    requests: Math.round(due + more),
    atLeast: candidates.some((candidate) => candidate.requests === null),
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
    unknown: streams.filter((stream) => stream.atLeast).map(({ stream }) => stream),
    days: daysSinceRead(context.view),
  };
};

/** The forecast as stored with the run. `credits`: what the run is expected to spend within its allowance. */
export const forecastJson = ({ days, ...forecast }: Forecast, allowance: number | null): JsonObject => ({
  ...forecast,
  credits: Math.min(forecast.requests, allowance ?? Infinity),
  days: Object.fromEntries(days),
  streams: forecast.streams.map((stream) => ({ ...stream, because: stream.because.map((reason) => ({ ...reason })) })),
});
