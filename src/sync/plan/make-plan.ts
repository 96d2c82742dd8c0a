// Makes the plan from the mirror's state and the configuration. `plan` and `sync` both use it, so a sync does what
// `plan` announces.
import { streamSpec, wantedContent } from "../../catalog/streams.ts";
import { splitWaiting, type Unusable, type Waiting, waitsDeep } from "../../core/state/unusable-responses.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import { type Candidate, type Context, type DueOptions, type MirrorView, stateKey } from "./candidate.ts";
import { changedScopes, unusableIn } from "./capabilities.ts";
import { withDeletionSearch } from "./deletion-search.ts";
import { dueCandidates } from "./due.ts";
import { mirrorViews } from "./mirror-view.ts";
import { lengthsOf, type ResetList, resetCandidates, sinceCandidates, withoutStates } from "./reset.ts";
import { FORBIDDEN_WORTH } from "./worth.ts";

/** What the service refused in an earlier sync comes after all else: it must not be the first that a run is answered. */
const refusedLast = (candidates: readonly Candidate[], known: readonly Unusable[]): readonly Candidate[] => {
  const refused = new Set(known.flatMap(({ free, stream, scope }) => (free ? [stateKey(stream, scope)] : [])));
  return candidates.map((candidate) =>
    refused.has(stateKey(candidate.stream, candidate.scope))
      ? { ...candidate, worth: FORBIDDEN_WORTH, forbidden: true as const }
      : candidate,
  );
};

export interface PlanOptions extends Omit<DueOptions, "shapes" | "access" | "suspected"> {
  /** Read these lists anew, and nothing else; empty: everything that is due. */
  readonly reset: readonly ResetList[];
  /** Id of the sync whose earlier run may have begun with that; null or unset: none has. */
  readonly syncId?: string | null;
  /** Read what is dated after this, and nothing else, ms since the epoch; null or unset: everything that is due. */
  readonly since?: number | null;
}

export interface Plan {
  /** All due work, most valuable first. */
  readonly candidates: readonly Candidate[];
  /** Due work that waits, because earlier answers could not be used. */
  readonly waiting: readonly Waiting[];
  readonly view: MirrorView;
  readonly context: Context;
}

export interface Known extends Pick<DueOptions, "shapes" | "access" | "suspected"> {
  /** Lists and records whose answers could not be used; unset: what the mirror remembers. */
  readonly unusable?: readonly Unusable[];
}

/** Reads the mirror's state and returns the due work, as often as a run asks. Sends nothing. */
export type Planner = (known: Known, now: number) => Promise<Plan>;

/** The changes of a list whose walk waits for a page that cannot be used: they cost a credit, as those of any list. */
const changesMeanwhile = (
  { view, options }: Context,
  candidate: Candidate,
  entries: readonly Unusable[],
): readonly Candidate[] => {
  const { stream, scope } = candidate;
  const isWalk = view.states.get(stateKey(stream, scope))?.status === "walking";
  const isShown = streamSpec(stream).watermark !== undefined && options.shapes.get(stream)?.changeOrder !== false;
  if (!isWalk || !isShown || !waitsDeep(entries, candidate)) return [];
  return [{ ...candidate, mode: "watermark", because: "its walk waits; its changes", requests: 1, meanwhile: true }];
};

export const createPlanner = (warehouse: MirrorReader, options: PlanOptions): Planner => {
  const wantsContent =
    options.streams.includes("signals") && wantedContent(streamSpec("signals"), options.content).length > 0;
  const viewAt = mirrorViews(warehouse, { content: wantsContent, rowScope: options.rowScope });
  // What the command names is asked for at once.
  const waits = !options.full && !options.named && options.reset.length === 0;
  return async ({ unusable, ...known }, now) => {
    // A list with another scope counts as never read.
    const capabilities = await warehouse.capabilities();
    const changed = changedScopes(capabilities, options.rowScope);
    const unread = changed.map((stream) => ({ stream, scope: "" }));
    const mirrored = await viewAt(now);
    const unknown = withoutStates(mirrored, unread, null);
    const view = withoutStates(unknown, options.reset, options.syncId ?? null);
    const totals = new Map([...(options.totals ?? []), ...lengthsOf(mirrored, options.reset)]);
    const context = { view, options: { ...options, ...known, totals } };
    if (options.since != null)
      return { candidates: sinceCandidates(context, options.since), waiting: [], view, context };
    const readBefore = unread.filter(({ stream, scope }) => mirrored.states.has(stateKey(stream, scope)));
    const due = dueCandidates(view, context.options).map((candidate) =>
      readBefore.some(({ stream, scope }) => stream === candidate.stream && scope === candidate.scope)
        ? { ...candidate, because: "its scope changed, so the list is read whole" }
        : candidate,
    );
    const searching = await Promise.all(
      due.map((candidate) => withDeletionSearch(warehouse, context, candidate, capabilities)),
    );
    const candidates = options.reset.length === 0 ? searching : resetCandidates(due, options.reset, context);
    const entries = unusable ?? unusableIn(capabilities);
    if (!waits) return { candidates: refusedLast(candidates, entries), waiting: [], view, context };
    const split = splitWaiting(candidates, entries, now);
    const readNow = new Set(split.due);
    const asked = candidates.flatMap((candidate) =>
      readNow.has(candidate) ? [candidate] : changesMeanwhile(context, candidate, entries),
    );
    return { candidates: refusedLast(asked, entries), waiting: split.waiting, view, context };
  };
};
