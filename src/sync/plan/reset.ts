// Plans `sync --reset` and `sync --since`. A reset reads lists as if they had never been read, and deletes nothing before the walk has
// ended. `--since` reads rows dated after a day by the service's filter, and never deletes. Pure.
import { STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { overlappingPages } from "../list/coverage/page-geometry.ts";
import { INPUT_SCOPE } from "../rows/loads.ts";
import { type Candidate, type Context, type MirrorView, pagesOf, stateKey } from "./candidate.ts";
import { permittedStreams } from "./due.ts";
import { listWorth } from "./worth.ts";

// Excerpts of lists for `sync --since`: what is dated after a day, by the service's own filter. They add and refresh
// rows, and conclude nothing about the rest of the list: no watermark moves, no row is deleted, no list becomes
// complete. Pure.

export const DATED_STREAMS: readonly StreamName[] = STREAM_NAMES.filter((name) => streamSpec(name).since !== undefined);

/** One reading of each of these lists. `since`: ms since the epoch. */
export const sinceCandidates = (context: Context, since: number): readonly Candidate[] =>
  permittedStreams(context)
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

export interface ResetList {
  readonly stream: StreamName;
  /** null: every list of the stream. */
  readonly scope: string | null;
}

const isReset = (lists: readonly ResetList[], stream: string, scope: string): boolean =>
  lists.some((list) => list.stream === stream && (list.scope === null || list.scope === scope));

/** An earlier run of the same sync: `20261123T120000Z-abc123` and `-2`, `-3` ... after it. */
const isRunOf = (syncId: string, runId: string): boolean => runId === syncId || runId.startsWith(`${syncId}-`);

/**
 * The view without the states of these lists: their walks start at the first page, and inputs are resolved again. `syncId`: an earlier run of this sync
 * may have begun with them, so what it has read is not read again; null: there is none.
 */
export const withoutStates = (view: MirrorView, lists: readonly ResetList[], syncId: string | null): MirrorView => {
  const kept = [...view.states.values()].filter(
    ({ stream, scope, runId }) => !isReset(lists, stream, scope) || (syncId !== null && isRunOf(syncId, runId)),
  );
  const states = new Map(kept.map((state) => [stateKey(state.stream, state.scope), state]));
  const inputs = view.inputs.map((known) => {
    const scope = `${INPUT_SCOPE}${known.input}`;
    const isRead = !isReset(lists, "companies", scope) || states.has(stateKey("companies", scope));
    return isRead ? known : { ...known, resolvedAt: null };
  });
  return { ...view, states, inputs };
};

/** Lengths of the organization's lists among these, as they were last read. */
export const lengthsOf = (view: MirrorView, lists: readonly ResetList[]): ReadonlyMap<string, number> =>
  new Map(
    [...view.states.values()].flatMap(({ stream, scope, totalCount }) =>
      scope === "" && totalCount !== null && isReset(lists, stream, scope) ? [[stream, totalCount] as const] : [],
    ),
  );

/** Pages of the whole list, which share rows. */
const pagesAnew = (context: Context, { stream, scope, requests }: Candidate): number | null =>
  scope === ""
    ? pagesOf(context, streamSpec(stream), context.options.totals?.get(stream) ?? null, overlappingPages)
    : requests;

/** The work on these lists. The context's view: from `withoutStates`. Throws USAGE when the mirror reads none of them. */
export const resetCandidates = (
  candidates: readonly Candidate[],
  lists: readonly ResetList[],
  context: Context,
): readonly Candidate[] => {
  const { states } = context.view;
  const chosen = candidates.filter(({ stream, scope }) => isReset(lists, stream, scope));
  // What an earlier run of the sync has read to its end is not due.
  const known = [...chosen, ...states.values()];
  const unknown = lists.find((list) => !known.some(({ stream, scope }) => isReset([list], stream, scope)));
  if (unknown !== undefined) {
    const { stream, scope } = unknown;
    const detail = `--reset ${stream}${scope === null ? "" : `:${scope}`}: the mirror reads no such list yet`;
    throw new DuckmirrorError("USAGE", { detail });
  }
  return chosen.map((candidate) =>
    candidate.mode === "walk"
      ? { ...candidate, overlap: true, because: "--reset", requests: pagesAnew(context, candidate) }
      : candidate,
  );
};
