// Forecast of a plan's requests, per stream and in total. Pure. Stored with the run, so that its error can be
// measured.
import type { StreamName } from "../../catalog/streams.ts";
import type { JsonValue } from "../../core/json.ts";
import type { Candidate, ScopeMode } from "./candidate.ts";

export interface StreamForecast {
  readonly stream: StreamName;
  readonly scopes: number;
  /** Number of scopes that are lists; each other scope is one record. */
  readonly lists: number;
  /** Known requests; `atLeast` when there may be more. */
  readonly requests: number;
  readonly atLeast: boolean;
  /** Reasons and the number of scopes for each, most frequent first. */
  readonly because: readonly { readonly reason: string; readonly scopes: number }[];
}

export interface Forecast {
  readonly streams: readonly StreamForecast[];
  readonly requests: number;
  readonly atLeast: boolean;
}

const LIST_MODES: readonly ScopeMode[] = ["walk", "watermark", "filter", "known", "log"];

const streamForecast = (stream: StreamName, candidates: readonly Candidate[]): StreamForecast => {
  const reasons = new Map<string, number>();
  for (const { because } of candidates) reasons.set(because, (reasons.get(because) ?? 0) + 1);
  return {
    stream,
    scopes: candidates.length,
    lists: candidates.filter(({ mode }) => LIST_MODES.includes(mode)).length,
    requests: candidates.reduce((sum, candidate) => sum + (candidate.requests ?? 1), 0),
    atLeast: candidates.some((candidate) => candidate.requests === null),
    because: [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, scopes]) => ({ reason, scopes })),
  };
};

/** The forecast of a plan. Work that the sync discovers later (companies of unread accounts) is not included. */
export const forecastOf = (candidates: readonly Candidate[]): Forecast => {
  const streams = [...new Set(candidates.map((candidate) => candidate.stream))].map((stream) =>
    streamForecast(
      stream,
      candidates.filter((candidate) => candidate.stream === stream),
    ),
  );
  return {
    streams,
    requests: streams.reduce((sum, stream) => sum + stream.requests, 0),
    atLeast: streams.some((stream) => stream.atLeast),
  };
};

/** The forecast as stored with the run. */
export const forecastJson = (forecast: Forecast): JsonValue => ({
  ...forecast,
  streams: forecast.streams.map((stream) => ({ ...stream, because: stream.because.map((reason) => ({ ...reason })) })),
});
