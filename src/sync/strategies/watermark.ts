// Strategy watermark: newest changes first, until a page reaches behind the watermark; then the counts must agree.
// Pure. Verifies that the service really sorts; if it does not, asks for a walk and for that to be remembered.
import { counted } from "../../core/units.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "./contract.ts";
import { addRead, type Coverage, emptyCoverage, nextReads } from "./coverage.ts";

export interface WatermarkState {
  readonly kind: "watermark";
  readonly coverage: Coverage;
  /** Pages read. A row that changes between two of them jumps to the head unseen: only one page is a whole. */
  readonly pages: number;
  /** Changes after this moment are wanted, ms since the epoch: watermark minus overlap. */
  readonly since: number;
  /** Newest value seen: the next watermark. */
  readonly newest: number | null;
  readonly sorted: boolean;
  readonly reachedKnown: boolean;
  /** Oldest value so far: the next page may hold nothing newer, ties aside. */
  readonly oldest: number | null;
}

export const startWatermark = (options: { size: number; since: number }): WatermarkState => ({
  kind: "watermark",
  coverage: emptyCoverage(options.size, true),
  pages: 0,
  since: options.since,
  newest: null,
  sorted: true,
  reachedKnown: false,
  oldest: null,
});

/** True when the values descend, records without a value last. */
const descends = (values: readonly (number | null)[]): boolean =>
  values.every((value, index) => {
    const previous = index === 0 ? undefined : values[index - 1];
    if (previous === undefined || value === null) return true;
    return previous !== null && previous >= value;
  });

export const acceptWatermark = (state: WatermarkState, read: PageRead): WatermarkState => {
  const known = read.values.filter((value) => value !== null);
  const newest = Math.max(state.newest ?? Number.NEGATIVE_INFINITY, ...known.slice(0, 1));
  const oldest = known.at(-1) ?? state.oldest;
  return {
    ...state,
    coverage: addRead(state.coverage, read, "identity"),
    pages: state.pages + 1,
    newest: Number.isFinite(newest) ? newest : null,
    oldest,
    sorted: state.sorted && descends(read.values),
    reachedKnown: state.reachedKnown || known.length < read.values.length || known.some((value) => value < state.since),
  };
};

export const nextWatermark = (
  state: WatermarkState,
  facts: MirrorFacts,
  inFlight: readonly ReadRequest[],
  field: string,
): Step => {
  const { coverage } = state;
  if (inFlight.length > 0) return { kind: "wait" };
  if (!state.sorted) {
    return { kind: "walk", because: `the service does not sort by ${field}`, remember: "order-ignored" };
  }
  if (!coverage.proven) return { kind: "walk", because: "the list moved while its changes were read", remember: null };
  if (
    coverage.complete &&
    state.pages === 1 &&
    coverage.total !== null &&
    facts.seen + facts.rejected === coverage.total
  ) {
    return { kind: "done", addsUp: true, whole: true, because: "the whole list was read" };
  }
  const agrees = coverage.total === null || coverage.total - facts.rows === facts.acceptedGap;
  // Newest first, and all of it known as it is: what stands behind it changed earlier still. Without this, a source whose
  // rows share a date would be read to its end at every look.
  const quiet = facts.last !== null && facts.last.inserted === 0 && facts.last.updated === 0;
  if (!coverage.complete && !state.reachedKnown && !(quiet && agrees)) {
    const reads = nextReads(coverage, inFlight, 1);
    return reads.length > 0 ? { kind: "read", reads } : { kind: "wait" };
  }
  if (!agrees) {
    return {
      kind: "walk",
      because: `the service counts ${counted(coverage.total, "row")}, the mirror ${facts.rows}`,
      remember: null,
    };
  }
  return { kind: "done", addsUp: false, whole: false, because: "changes read, counts agree" };
};
