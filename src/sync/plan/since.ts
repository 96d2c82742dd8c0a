// Excerpts of lists for `sync --since`: what is dated after a day, by the service's own filter. They add and refresh
// rows, and conclude nothing about the rest of the list: no watermark moves, no row is deleted, no list becomes
// complete. Pure.
import { STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import type { Candidate, Context } from "./candidate.ts";
import { askable } from "./due.ts";
import { listWorth } from "./worth.ts";

/** Streams whose list the service filters by a date. */
export const DATED_STREAMS: readonly StreamName[] = STREAM_NAMES.filter((name) => streamSpec(name).since !== undefined);

/** One reading of each of these lists. `since`: ms since the epoch. */
export const sinceCandidates = (context: Context, since: number): readonly Candidate[] =>
  askable(context)
    .filter((name) => DATED_STREAMS.includes(name))
    .map((stream) => ({
      stream,
      scope: "",
      mode: "filter",
      overlap: false,
      because: `--since ${new Date(since).toISOString().slice(0, 10)}`,
      // How much is dated after it is not known.
      requests: null,
      worth: listWorth(stream),
      since,
    }));
