// Coverage: which rows of a list, which may change meanwhile, its pages have returned without a gap, and whether its end is reached. Pure.
// A page joins the coverage by proof: it shares a row with the page before it, ids leave no room between the two, or the list has verifiably
// not changed. If a page does not join, the walk steps back and requests pages that bridge the gap; after the most bridges it goes on without
// proof (`proven: false`), and nothing is deleted by it.
import { z } from "zod";
import {
  confirmsCount,
  emptyFromAfter,
  isBeyondEnd,
  isEmptyAgain,
  lapAfter,
  lapSchema,
  noLap,
  provesEnd,
  repeatsPages,
  totalAfter,
} from "./list-end.ts";
import { cannotShare, endOf, type PageSpan, startOf } from "./page-geometry.ts";
import { type PageRead, type Proof, pageReadSchema } from "./read-types.ts";

// The order of ids in a page. Pure.

/** True when both are whole numbers and the first is the greater one. */
export const isHigher = (a: string, b: string): boolean => {
  const integer = /^-?\d+$/;
  return integer.test(a) && integer.test(b) && BigInt(a) > BigInt(b);
};

/** True when the ids are whole numbers in strictly descending order. */
export const isDescending = (ids: readonly string[]): boolean => {
  let previous: string | undefined;
  for (const id of ids) {
    if (previous === undefined ? !/^-?\d+$/.test(id) : !isHigher(previous, id)) return false;
    previous = id;
  }
  return true;
};

/** Ids kept from the end of the coverage. One of them in the next page is enough to join it. */
const TAIL_IDS = 8;
/** Bridges for one broken link, each further back, before the walk continues without proof. */
const MAX_BRIDGES = 6;

/**
 * Reads one after another that bring no further row: a service that answers the same for ever must not be paid for ever.
 * Links take up to MAX_BRIDGES of them each.
 */
const MAX_IDLE_READS = 24;
/** The same for pages after the last row that repeat known rows: some services answer with their last page. */
const MAX_REPEATS = 2;

/** Bridges in one walk, so that a constantly changing list does not keep it going for ever. */
const MAX_REPAIRS = 200;

export const coverageSchema = z
  .object({
    /** Largest page the service grants. */
    size: z.number(),
    /** The service takes pages of that size only, so no two pages share a row. */
    fixed: z.boolean(),
    /** Largest page of this stream that the service has returned in this run, rows. */
    granted: z.number(),
    /** Neighbouring pages share a row: in walks that may delete, and from the first sign of change unless ids grow. */
    overlap: z.boolean(),
    /** Number of rows read without a gap, from the head of the list. */
    end: z.number(),
    tail: z.array(z.string()).readonly(),
    head: z.array(z.string()).readonly(),
    /** Latest `totalCount`; null when the service does not return one. */
    total: z.number().nullable(),
    /** `totalCount` of the last joined page. */
    joinedTotal: z.number().nullable(),
    /** Rows by which the count fell lately from one joined page to the next, so that pages that follow share as many. */
    fall: z.number(),
    moved: z.boolean(),
    /** False after a resume, until a page has been joined across the boundary. */
    fresh: z.boolean(),
    /** Pages that arrived before their predecessors. */
    waiting: z.array(pageReadSchema).readonly(),
    /** Row to step back to after a broken link. */
    bridgeAt: z.number().nullable(),
    bridges: z.number(),
    /** Bridges of the whole walk so far. */
    repairs: z.number(),
    /**
     * Row at which a page was empty although the count goes on; null: none was. Pages behind it are requested one by one, because
     * each may cost a credit for nothing.
     */
    emptyFrom: z.number().nullable(),
    /** Reads since one brought a further row. */
    idle: z.number(),
    /** Whether pages come again. */
    lap: lapSchema,
    /** False once a link was accepted without proof. */
    proven: z.boolean(),
    /** The last page reached the count and was full: the page behind it shows whether more rows follow. */
    openEnd: z.boolean(),
    /** The pages that joined by proof end before the service's count does. */
    endsEarly: z.boolean(),
    complete: z.boolean(),
  })
  .readonly();
export type Coverage = z.infer<typeof coverageSchema>;

export const emptyCoverage = (size: number, overlap: boolean): Coverage => ({
  size,
  fixed: false,
  granted: 0,
  overlap,
  end: 0,
  tail: [],
  head: [],
  total: null,
  joinedTotal: null,
  fall: 0,
  moved: false,
  fresh: true,
  waiting: [],
  bridgeAt: null,
  bridges: 0,
  repairs: 0,
  emptyFrom: null,
  idle: 0,
  lap: noLap,
  proven: true,
  openEnd: false,
  endsEarly: false,
  complete: false,
});

/** The coverage in another process: pages in flight are lost, and the boundary must be proven again. */
export const resumedCoverage = (coverage: Coverage): Coverage => ({ ...coverage, fresh: coverage.end === 0 });

/**
 * A complete coverage that is too old to be believed: the list's end is read once more, because only an answer of now
 * shows what the service counts now.
 */
export const reopenedCoverage = (coverage: Coverage): Coverage => ({ ...coverage, fresh: false, complete: false });

/**
 * True for a page of growing ids whose count is no lower than that of the page before, and later. New rows come at the head
 * alone, so a row can only be skipped where more rows go than come. docs/decisions/paging.md.
 */
const skipsNothing = ({ overlap, fresh, end, joinedTotal }: Coverage, read: PageRead): boolean =>
  !overlap &&
  fresh &&
  read.follows === true &&
  startOf(read) <= end &&
  read.total !== null &&
  joinedTotal !== null &&
  read.total >= joinedTotal;

/** True when nothing shows that the list has changed since its first page. */
const isUnchanged = ({ fresh, moved, joinedTotal }: Coverage, read: PageRead): boolean =>
  fresh && !moved && read.total !== null && read.total === joinedTotal;

/** True when growing ids show that no row lies between the page and the rows before it. */
const goesOnInOrder = (coverage: Coverage, read: PageRead): boolean => {
  const last = coverage.tail.at(-1);
  const first = read.ids[0];
  return (last !== undefined && first !== undefined && !isHigher(last, first)) || skipsNothing(coverage, read);
};

const joins = (coverage: Coverage, read: PageRead, proof: Proof): boolean => {
  // The first page needs no link. In the worst case the walk starts again from it.
  if (startOf(read) === 0) return coverage.end === 0 || read.role === "bridge";
  if (coverage.end === 0) return false;
  if (read.rows === 0 && isEmptyAgain(coverage, read)) return true;
  if (coverage.openEnd && confirmsCount(coverage, read)) return true;
  if (coverage.tail.some((id) => read.ids.includes(id))) return true;
  if (proof === "descending" && goesOnInOrder(coverage, read)) return true;
  return !coverage.overlap && startOf(read) === coverage.end && isUnchanged(coverage, read);
};

/** True when a joined page extends the coverage; false when it lies inside, because the list changed. */
const reachesBeyond = (coverage: Coverage, read: PageRead, proof: Proof): boolean => {
  const last = coverage.tail.at(-1);
  const end = read.ids.at(-1);
  if (end === undefined || end === last) return false;
  return last === undefined || proof === "identity" || isHigher(last, end);
};

/** Rows by which the count of a page is lower than that of the joined one before it. */
const decreaseOf = ({ joinedTotal }: Coverage, { total }: PageRead): number =>
  joinedTotal === null || total === null ? 0 : Math.max(0, joinedTotal - total);

/** What a page shows of the end of its list. */
const endShownBy = (coverage: Coverage, read: PageRead) => {
  const isHead = startOf(read) === 0;
  const end = startOf(read) + read.rows;
  const isShort = read.rows < read.perPage;
  const reached = provesEnd(read, coverage.granted);
  // Fewer rows than requested although more may exist: the service silently reduces the page size. Use the number of
  // rows. The first page shows that; a later short page is the list's end, whatever the service counts.
  const size = !reached && read.rows > 0 && isShort && isHead ? Math.min(coverage.size, read.rows) : coverage.size;
  const ends = read.role === "cover" && !isHead && isShort && end <= coverage.end;
  const leftOpen = read.total !== null && end >= read.total && read.rows > 0 && !reached;
  return { end, size, reached, leftOpen, stuck: !reached && (read.rows === 0 || ends) };
};

/** The coverage after a page is joined. A bridge shows where the coverage ends in the list as it is now. */
const extend = (coverage: Coverage, read: PageRead, proof: Proof): Coverage => {
  if (coverage.openEnd && confirmsCount(coverage, read))
    return { ...coverage, openEnd: false, bridgeAt: null, bridges: 0, complete: true };
  const { end, size, reached, leftOpen, stuck } = endShownBy(coverage, read);
  const adds = reachesBeyond(coverage, read, proof) || (read.role === "bridge" && read.ids.length > 0);
  const wasRefused = read.refused === true;
  return {
    ...coverage,
    size,
    granted: Math.max(coverage.granted, read.rows),
    // A page inside the coverage still shows its end: rows inserted above have moved it down.
    end: adds || read.ids.at(-1) === coverage.tail.at(-1) ? end : Math.max(coverage.end, end),
    tail: adds ? read.ids.slice(-TAIL_IDS) : coverage.tail,
    head: coverage.end === 0 ? read.ids.slice(0, TAIL_IDS) : coverage.head,
    joinedTotal: read.total,
    fall: Math.max(decreaseOf(coverage, read), Math.floor(coverage.fall / 2)),
    fresh: true,
    bridgeAt: null,
    bridges: 0,
    proven: coverage.proven && !stuck && !wasRefused,
    openEnd: leftOpen,
    endsEarly: coverage.proven && stuck && !wasRefused && read.total !== null,
    complete: reached || stuck,
  };
};

/**
 * Row to step back to when `read` does not join: by the decrease of the count, then further after each miss. A page that waited
 * may be older than the coverage; then a lower count shows rows that were added since, and says nothing about the way back. A
 * step to the head would join there, and be taken again and again.
 */
const bridgeRow = (coverage: Coverage, read: PageRead, hasWaited: boolean): number => {
  const decrease = decreaseOf(coverage, read);
  const fall = hasWaited ? Math.min(decrease, Math.floor(coverage.size / 2)) : decrease;
  const further = coverage.bridges === 0 ? 0 : Math.ceil(coverage.size * 2 ** (coverage.bridges - 4));
  return Math.max(0, coverage.end - 1 - fall - further);
};

const byStart = (a: PageSpan, b: PageSpan): number => startOf(a) - startOf(b) || endOf(a) - endOf(b);

/**
 * Handles a page that cannot be joined: steps back and bridges, or after too many failures continues without proof.
 */
const breakLink = (
  coverage: Coverage,
  read: PageRead,
  { rest, hasWaited }: { readonly rest: readonly PageRead[]; readonly hasWaited: boolean },
): Coverage => {
  if (coverage.bridges >= MAX_BRIDGES || coverage.repairs >= MAX_REPAIRS) {
    const end = Math.max(coverage.end, startOf(read));
    return extend({ ...coverage, waiting: [], proven: false, end }, { ...read, role: "cover" }, "identity");
  }
  return {
    ...coverage,
    // A bridge that missed is dropped; a covering page stays, until a bridge reaches it.
    waiting: read.role === "bridge" ? rest : coverage.waiting,
    bridgeAt: bridgeRow(coverage, read, hasWaited),
    bridges: coverage.bridges + 1,
    repairs: coverage.repairs + 1,
  };
};

/** True when a page that only touches the end may join. Not after a resume, and not in overlapping walks. */
export const touchSuffices = ({ overlap, fresh }: Coverage): boolean => !overlap && fresh;

/** The waiting page to try next, bridges first. A page that only touches the end may have to wait for another. */
const nextToJoin = (coverage: Coverage): PageRead | undefined => {
  const { end, size, fixed, waiting } = coverage;
  const touches = end === 0 || touchSuffices(coverage) || cannotShare(end, size, fixed);
  let first: PageRead | undefined;
  for (const read of waiting) {
    const confirms = coverage.openEnd && confirmsCount(coverage, read);
    const reaches = startOf(read) < end || (startOf(read) === end && (touches || confirms));
    if (reaches && read.role === "bridge") return read;
    if (reaches) first ??= read;
  }
  return first;
};

/** The coverage of a list that is read no further, although nothing proves that this is its end. */
const endWithoutProof = (coverage: Coverage): Coverage => ({
  ...coverage,
  waiting: [],
  bridgeAt: null,
  proven: false,
  complete: true,
});

/** Adds a page: joins it and the pages that waited for it. Pages may arrive in any order. */
export const addRead = (before: Coverage, read: PageRead, proof: Proof): Coverage => {
  const after = { ...joinAll(before, read, proof), lap: lapAfter(before.lap, read) };
  const isRepeat = isBeyondEnd(before, read) && read.ids.every((id) => before.tail.includes(id));
  if (!after.complete && repeatsPages(after.lap)) return endWithoutProof(after);
  if (after.complete || (after.tail.at(-1) !== before.tail.at(-1) && !isRepeat)) return { ...after, idle: 0 };
  // A page that waits for its predecessors is no idle read, unless it waits already.
  const waits = after.waiting.includes(read) && !before.waiting.some((other) => isSamePage(other, read));
  const idle = waits ? before.idle : before.idle + (isRepeat ? MAX_IDLE_READS / MAX_REPEATS : 1);
  return idle < MAX_IDLE_READS ? { ...after, idle } : endWithoutProof({ ...after, idle });
};

const isSamePage = (a: PageSpan, b: PageSpan): boolean => a.page === b.page && a.perPage === b.perPage;

/** The coverage with a page that waits to be joined. */
const withWaiting = (before: Coverage, read: PageRead, proof: Proof): Coverage => {
  const moved = before.moved || (before.total !== null && read.total !== null && read.total !== before.total);
  return {
    ...before,
    granted: Math.max(before.granted, read.granted ?? 0),
    total: read.total ?? totalAfter(before.total, read),
    moved,
    overlap: before.overlap || (moved && proof === "identity"),
    emptyFrom: read.rows > 0 && before.emptyFrom === null ? null : emptyFromAfter(before.emptyFrom, read),
    waiting: [...before.waiting, read].sort(byStart),
  };
};

/** True for a page behind a row that no page can share with the one before it. */
const onlyTouches = ({ end, size, fixed }: Coverage, read: PageRead): boolean =>
  read.role !== "bridge" && startOf(read) === end && cannotShare(end, size, fixed);

const joinAll = (before: Coverage, read: PageRead, proof: Proof): Coverage => {
  let coverage = withWaiting(before, read, proof);
  let bridged = false;
  for (;;) {
    if (coverage.complete) return { ...coverage, waiting: [], bridgeAt: null };
    const next = nextToJoin(coverage);
    if (next === undefined) return coverage;
    const isBridge = next.role === "bridge";
    const rest = coverage.waiting.toSpliced(coverage.waiting.indexOf(next), 1);
    if (joins(coverage, next, proof)) {
      bridged = bridged || isBridge;
      coverage = extend({ ...coverage, waiting: rest }, next, proof);
    } else if (onlyTouches(coverage, next)) {
      const proven = coverage.proven && isUnchanged(coverage, next);
      coverage = extend({ ...coverage, waiting: rest, proven }, next, proof);
    } else if (bridged || (isBridge && next !== read)) {
      // Read before the list changed: its rows are loaded, but its position no longer counts.
      coverage = { ...coverage, waiting: rest };
    } else if (coverage.bridgeAt !== null && !isBridge) {
      return coverage;
    } else {
      return breakLink(coverage, next, { rest, hasWaited: next !== read });
    }
  }
};
