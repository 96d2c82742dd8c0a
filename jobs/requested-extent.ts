// Validates what a caller wants of a sync: all that is due, certain lists anew (`--reset`), or rows dated after a day (`--since`).
// `checkedExtent` also checks the names that a user or a request to a worker gives; `extentOf` takes those of a sync that goes on. Pure.
import { isStreamName, STREAM_NAMES, type StreamName } from "../src/catalog/streams.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import { didYouMean } from "../src/core/text/did-you-mean.ts";
import { timeMs } from "../src/core/time.ts";
import type { ResetList } from "../src/sync/plan/reset.ts";
import { DATED_STREAMS } from "../src/sync/plan/reset.ts";

export interface RequestedExtent {
  /** Streams to read; none: those of the configuration. */
  readonly streams?: readonly string[] | undefined;
  /** Walk every list completely, even if little has changed. */
  readonly full?: boolean | undefined;
  /** `stream` or `stream:scope`: read these lists anew, and nothing else. */
  readonly reset?: readonly string[] | undefined;
  /** Read what is dated after this day (`2026-11-01`), of streams that the service filters by date, and nothing else. */
  readonly since?: string | undefined;
}

/** The day of `--since`, ms since the epoch; null: none. Throws USAGE. */
const sinceOf = ({ since, reset = [], full }: RequestedExtent): number | null => {
  if (since === undefined) return null;
  const at = timeMs(since);
  if (at === null) throw new DuckmirrorError("USAGE", { detail: `--since: "${since}" is not a date like 2026-11-01` });
  if (full || reset.length > 0)
    throw new DuckmirrorError("USAGE", {
      detail: "--since reads a part of a list, so it cannot be combined with --full or --reset",
    });
  return at;
};

/** Streams of `--since`: those named, else all that it can read. Throws SINCE_UNSUPPORTED. */
const datedStreams = (config: Pick<Config, "streams">, named: readonly string[]): readonly string[] => {
  const unable = named.filter((name) => !DATED_STREAMS.some((stream) => stream === name));
  if (unable.length === 0 && named.length > 0) return named;
  if (unable.length === 0) return DATED_STREAMS.filter((name) => config.streams?.includes(name) ?? true);
  throw new DuckmirrorError("SINCE_UNSUPPORTED", { streams: unable.join(", "), able: DATED_STREAMS.join(" and ") });
};

/** A list of `--reset`. Throws USAGE for an unknown stream. */
const resetList = (text: string): ResetList => {
  const [stream = "", ...scope] = text.split(":");
  if (isStreamName(stream)) return { stream, scope: scope.length === 0 ? null : scope.join(":") };
  const detail = `--reset ${text}: ${stream} is not a stream.${didYouMean(stream, STREAM_NAMES)}`;
  throw new DuckmirrorError("USAGE", { detail });
};

/** Lists to read anew. A run that continues a sync reads those of the streams that are still open. */
const resetOf = ({ reset = [], streams = [] }: RequestedExtent): readonly ResetList[] =>
  reset.map(resetList).filter(({ stream }) => streams.length === 0 || streams.includes(stream));

export interface Extent {
  /** Empty: those of the configuration. */
  readonly streams: readonly string[];
  readonly reset: readonly ResetList[];
  /** ms since the epoch; null: not limited to a part. */
  readonly since: number | null;
}

/** The extent of a run. Throws USAGE, SINCE_UNSUPPORTED. */
export const extentOf = (config: Pick<Config, "streams">, asked: RequestedExtent): Extent => {
  const reset = resetOf(asked);
  const since = sinceOf(asked);
  const { streams = [] } = asked;
  const named = since === null ? streams : datedStreams(config, streams);
  const names: readonly StreamName[] = reset.map(({ stream }) => stream);
  return { reset, since, streams: reset.length === 0 ? named : names };
};

/** The extent that a caller asks for: its streams exist, and its lists name theirs. Throws as `extentOf`. */
export const checkedExtent = (config: Pick<Config, "streams">, asked: RequestedExtent): Extent => {
  const { streams = [], reset = [] } = asked;
  const unknown = streams.find((name) => !isStreamName(name));
  if (unknown !== undefined)
    throw new DuckmirrorError("USAGE", { detail: `${unknown} is not a stream.${didYouMean(unknown, STREAM_NAMES)}` });
  if (reset.length > 0 && streams.length > 0)
    throw new DuckmirrorError("USAGE", { detail: "--reset already names its streams: leave out the other ones" });
  return extentOf(config, asked);
};
