// Strategy walk: every page of a list, so that no row slips between pages unseen, and a verdict whether it adds up.
// Pure. Only a walk that adds up may delete (invariant I3). docs/decisions/0020-drift-proof-paging.md.
import { counted } from "../../core/units.ts";
import type { MirrorFacts, PageRead, Proof, ReadRequest, Step } from "./contract.ts";
import { addRead, type Coverage, emptyCoverage, isDescending, nextReads } from "./coverage.ts";

/** A list at rest that does not add up is read a second time: its order is not stable. */
const MAX_PASSES = 2;
/** How often the head is read again for rows that were inserted while the walk was under way. */
const MAX_HEAD_READS = 2;

export interface WalkState {
  readonly kind: "walk";
  readonly coverage: Coverage;
  readonly proof: Proof;
  /** Every page so far was in the order of its ids: rows keep their places among each other. */
  readonly ordered: boolean;
  readonly pass: number;
  readonly headReads: number;
  /** The head was read again and a known id turned up in it. */
  readonly headJoined: boolean;
}

export const startWalk = (options: { size: number; overlap: boolean; proof: Proof }): WalkState => ({
  kind: "walk",
  coverage: emptyCoverage(options.size, options.overlap),
  proof: options.proof,
  ordered: true,
  pass: 1,
  headReads: 0,
  headJoined: false,
});

/** True when the ids descend, as numbers or as text. */
const descends = (ids: readonly string[]): boolean =>
  isDescending(ids) || ids.every((id, index) => index === 0 || id < (ids[index - 1] ?? ""));

/** Takes in a page. A page out of order ends the reliance on the order of ids. */
export const acceptWalk = (state: WalkState, read: PageRead): WalkState => {
  const proof = state.proof === "descending" && !isDescending(read.ids) ? "identity" : state.proof;
  if (read.role === "head") {
    return {
      ...state,
      proof,
      headJoined: state.headJoined || state.coverage.head.some((id) => read.ids.includes(id)),
      coverage: { ...state.coverage, total: read.total ?? state.coverage.total, head: read.ids.slice(0, 8) },
    };
  }
  return {
    ...state,
    proof,
    ordered: state.ordered && descends(read.ids),
    coverage: addRead(state.coverage, read, proof),
  };
};

/**
 * True when every row the service counts has been seen, and nothing else. Where rows may change places, a row can jump
 * over the reader while another one goes, and the figures agree all the same: such a list must have stood still.
 */
const addsUp = ({ coverage, ordered }: WalkState, facts: MirrorFacts): boolean =>
  coverage.complete &&
  coverage.proven &&
  (ordered || !coverage.moved) &&
  (coverage.total === null ? coverage.end < coverage.size : facts.seen + facts.rejected === coverage.total);

export const nextWalk = (
  state: WalkState,
  facts: MirrorFacts,
  inFlight: readonly ReadRequest[],
  room: number,
): Step => {
  const { coverage } = state;
  if (!coverage.complete) {
    const reads = nextReads(coverage, inFlight, room);
    return reads.length > 0 ? { kind: "read", reads } : { kind: "wait" };
  }
  if (inFlight.length > 0) return { kind: "wait" };
  const short = coverage.total !== null && facts.seen + facts.rejected < coverage.total;
  if (
    short &&
    coverage.moved &&
    state.proof === "descending" &&
    !state.headJoined &&
    state.headReads < MAX_HEAD_READS
  ) {
    return { kind: "read", reads: [{ page: state.headReads + 1, perPage: coverage.size, role: "head" }] };
  }
  const ok = addsUp(state, facts);
  return {
    kind: "done",
    addsUp: ok,
    whole: true,
    because: ok
      ? `all ${counted(facts.seen, "row")} read`
      : `${counted(facts.seen, "row")} read, the service counts ${coverage.total ?? "nothing"}`,
  };
};

/** The walk's state after `nextWalk` asked for the given reads. */
export const issueWalk = (state: WalkState, reads: readonly ReadRequest[]): WalkState => ({
  ...state,
  headReads: state.headReads + reads.filter((read) => read.role === "head").length,
});

/** True when reading the list once more may find what this pass missed: it stood still, or a link stayed unproven. */
export const wantsSecondPass = (state: WalkState, facts: MirrorFacts): boolean =>
  state.pass < MAX_PASSES &&
  state.coverage.complete &&
  state.coverage.total !== null &&
  facts.seen + facts.rejected < state.coverage.total &&
  (!state.coverage.moved || !state.coverage.proven);

/** The same walk, from the head again, pages overlapping; what was seen stays seen. */
export const secondPass = (state: WalkState): WalkState => ({
  ...startWalk({ size: state.coverage.size, overlap: true, proof: state.proof }),
  pass: state.pass + 1,
});
