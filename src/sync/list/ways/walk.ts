// Ways of reading `walk` (every page of a list, so that no row is skipped unnoticed) and `known` (until a page holds nothing new). Decides
// whether a walk adds up; only such a walk may delete (invariant I3). Pure. docs/decisions/paging.md.
import { z } from "zod";
import { addRead, type Coverage, coverageSchema, emptyCoverage, isDescending } from "../coverage/coverage.ts";
import { nextReads } from "../coverage/next-reads.ts";
import {
  type MirrorFacts,
  type PageRead,
  type Proof,
  proofSchema,
  type ReadRequest,
  type Step,
} from "../coverage/read-types.ts";

/** Passes over a list whose pages do not join. */
const MAX_PASSES = 2;
/** Reads of the head for rows inserted during the walk. */
const MAX_HEAD_READS = 2;

export const walkSchema = z
  .object({
    /** `known`: a list without order, read until a page holds nothing new. */
    kind: z.enum(["walk", "known"]),
    coverage: coverageSchema,
    proof: proofSchema,
    /** Every page so far was ordered by id, so rows keep their order among each other. */
    ordered: z.boolean(),
    pass: z.number(),
    /** Pages of the head that were read again. A read that was decided and never sent, or lost in a crash, does not count. */
    headReads: z.number(),
    /** The head was read again and contained a known id. */
    headJoined: z.boolean(),
    /** The head held rows that came during the walk, although no count had changed. */
    grew: z.boolean(),
  })
  .readonly();
export type WalkState = z.infer<typeof walkSchema>;

/**
 * Where only shared ids prove that no row was skipped, pages always share a row: an insert and a delete that balance
 * leave the count as it is. Ids that grow need it only in a walk that may delete (`overlap`).
 */
export const startWalk = (options: { size: number; overlap: boolean; proof: Proof }): WalkState => ({
  kind: "walk",
  coverage: emptyCoverage(options.size, options.overlap || options.proof === "identity"),
  proof: options.proof,
  ordered: true,
  pass: 1,
  headReads: 0,
  headJoined: false,
  grew: false,
});

export const startKnown = ({ size }: { size: number }): WalkState => ({
  ...startWalk({ size, overlap: true, proof: "identity" }),
  kind: "known",
});

/** True when the ids descend, as numbers or as text. */
const descends = (ids: readonly string[]): boolean =>
  isDescending(ids) || ids.every((id, index) => index === 0 || id < (ids[index - 1] ?? ""));

/** Adds a page of the head, read again. New rows there show that the list moved, although its count may have stayed the same. */
const withHead = (state: WalkState, read: PageRead): WalkState => {
  const { head, total, moved } = state.coverage;
  const hasMore = read.ids[0] !== head[0];
  const grew = state.grew || (hasMore && !moved);
  return {
    ...state,
    headReads: state.headReads + 1,
    headJoined: state.headJoined || head.some((id) => read.ids.includes(id)),
    grew,
    coverage: { ...state.coverage, total: read.total ?? total, head: read.ids.slice(0, 8), moved: moved || hasMore },
  };
};

/** Adds a page. A page out of order ends the reliance on the order of ids. */
export const acceptWalk = (state: WalkState, read: PageRead): WalkState => {
  const proof = state.proof === "descending" && !isDescending(read.ids) ? "identity" : state.proof;
  if (read.role === "head") return withHead({ ...state, proof }, read);
  const coverage = addRead({ ...state.coverage, overlap: state.coverage.overlap || proof === "identity" }, read, proof);
  // Pages of one row look ordered whatever the list's order is.
  const showsOrder = coverage.size > 1;
  return {
    ...state,
    proof: showsOrder ? proof : "identity",
    ordered: state.ordered && showsOrder && descends(read.ids),
    coverage,
  };
};

/**
 * True when the whole list is known without a count. A page that is shorter than the service grants is a list read at one
 * moment. Otherwise its end was requested later, and in between a row may have moved from behind the first page into it: only
 * rows in the order of their ids cannot.
 */
const isWholeUncounted = ({ coverage, proof }: WalkState, { seen, rejected }: MirrorFacts): boolean => {
  const { end, size, proven } = coverage;
  return proven && (end < size || (end === size && proof === "descending" && seen + rejected === end));
};

/**
 * True when exactly the rows that the service counts were read. Where rows may change places, a row can move past the
 * reader while another is deleted, and the counts still agree; such a list must not have changed at all.
 */
const addsUp = (state: WalkState, facts: MirrorFacts): boolean => {
  const { coverage, ordered } = state;
  if (!coverage.complete || (coverage.moved && !ordered)) return false;
  if (coverage.total === null) return isWholeUncounted(state, facts);
  return coverage.proven && facts.seen + facts.rejected === coverage.total;
};

/** True when the list ends as far before its count as after the walk before, and every mirrored row was read. */
const repeatsGap = ({ endsEarly, total }: Coverage, { rows, seen, acceptedGap }: MirrorFacts): boolean =>
  endsEarly && total !== null && total - rows === acceptedGap && seen >= rows;

/** True when fewer rows were read than the service counts. */
const isShort = ({ coverage: { total } }: WalkState, { seen, rejected }: MirrorFacts): boolean =>
  total !== null && seen + rejected < total;

/**
 * True when the rows that are missing may have come at the head: ids grow, and a list whose count stayed the same may have
 * lost as many rows as it gained. A list of one page was read at one moment.
 */
const wantsHead = (state: WalkState, facts: MirrorFacts): boolean => {
  const { coverage, proof, headJoined, headReads } = state;
  const mayHaveGrown = coverage.moved || (coverage.end > coverage.size && !repeatsGap(coverage, facts));
  return proof === "descending" && isShort(state, facts) && mayHaveGrown && !headJoined && headReads < MAX_HEAD_READS;
};

/** Strategy known: a page held nothing new, and the counts agree. If they never agree, the whole list is read, as by a walk. */
const isKnown = ({ coverage }: WalkState, { last, rows, acceptedGap }: MirrorFacts): boolean => {
  if (coverage.complete || coverage.end === 0 || coverage.bridgeAt !== null) return false;
  const nothingNew = last !== null && last.inserted === 0 && last.updated === 0;
  return nothingNew && coverage.total !== null && coverage.total - rows === acceptedGap;
};

export const nextWalk = (
  state: WalkState,
  facts: MirrorFacts,
  inFlight: readonly ReadRequest[],
  room: number,
): Step => {
  const { coverage } = state;
  if (state.kind === "known" && inFlight.length > 0) return { kind: "wait" };
  if (state.kind === "known" && isKnown(state, facts)) return { kind: "done", addsUp: false, whole: false };
  if (!coverage.complete) {
    const reads = nextReads(coverage, inFlight, state.kind === "known" ? 1 : room);
    return reads.length > 0 ? { kind: "read", reads } : { kind: "wait" };
  }
  if (inFlight.length > 0) return { kind: "wait" };
  if (wantsHead(state, facts)) {
    return { kind: "read", reads: [{ page: state.headReads + 1, perPage: coverage.size, role: "head" }] };
  }
  return { kind: "done", addsUp: addsUp(state, facts), whole: true };
};

/** True when a second pass may find missed rows: a link stayed unproven, so rows may lie between its pages. */
export const wantsSecondPass = (state: WalkState, facts: MirrorFacts): boolean =>
  state.kind === "walk" &&
  state.pass < MAX_PASSES &&
  state.coverage.complete &&
  !state.coverage.proven &&
  isShort(state, facts) &&
  !repeatsGap(state.coverage, facts);

/** The same walk from the head again; ids already seen stay. */
export const secondPass = (state: WalkState): WalkState => {
  const { size, granted, emptyFrom } = state.coverage;
  const again = startWalk({ size, overlap: true, proof: state.proof });
  return { ...again, coverage: { ...again.coverage, granted, emptyFrom }, pass: state.pass + 1 };
};
