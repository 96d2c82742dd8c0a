// Coverage: which rows of a moving list have been read without a gap, and what to read next.
// Pure. A page joins the coverage only by proof: a row shared with it, an id order that leaves no room between,
// or a list that verifiably stands still. A page that cannot be joined is bridged by stepping back.
import type { PageRead, Proof, ReadRequest } from "./contract.ts";
import { endOf, type PageSpan, spanAt, startOf } from "./page-geometry.ts";

/** Ids kept from the end of the coverage: one survivor among them is enough to join the next page. */
const TAIL_IDS = 8;
/** How often a broken link is bridged, further back each time, before the walk goes on unproven. */
const MAX_BRIDGES = 6;

/** The documented default page (API.md, "Limits"): whatever the maximum is, it is not smaller. */
const SMALLEST_MAXIMUM = 20;

/** How often a walk is bridged in all: a list that never holds still must not be chased for ever. */
const MAX_REPAIRS = 200;

export interface Coverage {
  /** Largest page the service grants. */
  readonly size: number;
  /** Let neighbouring pages share a row: set from the first sign of movement, and in reconciling walks. */
  readonly overlap: boolean;
  /** Rows read without a gap, from the head of the list. */
  readonly end: number;
  readonly tail: readonly string[];
  readonly head: readonly string[];
  /** Latest `totalCount`; null when the service does not tell. */
  readonly total: number | null;
  /** `totalCount` of the page that was joined last. */
  readonly joinedTotal: number | null;
  readonly moved: boolean;
  /** False after a resume, until a page has been joined across the boundary. */
  readonly fresh: boolean;
  /** Pages that came back ahead of their predecessors. */
  readonly waiting: readonly PageRead[];
  /** A broken link: the row to step back to. */
  readonly bridgeAt: number | null;
  readonly bridges: number;
  /** Bridges of the whole walk. */
  readonly repairs: number;
  /** False once a link had to be accepted without proof. */
  readonly proven: boolean;
  readonly complete: boolean;
}

export const emptyCoverage = (size: number, overlap: boolean): Coverage => ({
  size,
  overlap,
  end: 0,
  tail: [],
  head: [],
  total: null,
  joinedTotal: null,
  moved: false,
  fresh: true,
  waiting: [],
  bridgeAt: null,
  bridges: 0,
  repairs: 0,
  proven: true,
  complete: false,
});

/** The coverage as another process takes it up: what was in flight is lost, the boundary must be proven again. */
export const resumedCoverage = (coverage: Coverage): Coverage => ({ ...coverage, fresh: coverage.end === 0 });

const isBefore = (a: string, b: string): boolean => {
  const integer = /^-?\d+$/;
  return integer.test(a) && integer.test(b) && BigInt(a) > BigInt(b);
};

/** True when the ids are whole numbers in strictly descending order. */
export const isDescending = (ids: readonly string[]): boolean =>
  ids.every((id, index) => {
    const previous = ids[index - 1];
    return previous === undefined ? /^-?\d+$/.test(id) : isBefore(previous, id);
  });

const joins = (coverage: Coverage, read: PageRead, proof: Proof): boolean => {
  // A page from the head needs no link: nothing stands before it. At worst the walk starts over from there.
  if (startOf(read) === 0) return coverage.end === 0 || read.role === "bridge";
  if (coverage.end === 0) return false;
  const last = coverage.tail.at(-1);
  const first = read.ids[0];
  if (coverage.tail.some((id) => read.ids.includes(id))) return true;
  if (proof === "descending" && last !== undefined && first !== undefined && !isBefore(last, first)) return true;
  return (
    !coverage.overlap &&
    coverage.fresh &&
    !coverage.moved &&
    startOf(read) === coverage.end &&
    read.total !== null &&
    read.total === coverage.joinedTotal
  );
};

/** Whether a joined page reaches beyond the coverage, or lies within it because the list has moved. */
const reachesBeyond = (coverage: Coverage, read: PageRead, proof: Proof): boolean => {
  const last = coverage.tail.at(-1);
  const end = read.ids.at(-1);
  if (end === undefined || end === last) return false;
  return last === undefined || proof === "identity" || isBefore(last, end);
};

/**
 * Without a count, only a page that is shorter than what the service grants is the last one. What it grants is known
 * from the first page on: that one may be short because more was asked for than the service hands out silently.
 */
export const isShort = (read: PageRead): boolean =>
  read.rows < (startOf(read) === 0 ? Math.min(read.perPage, SMALLEST_MAXIMUM) : read.perPage);

/** The coverage after a page was joined. A bridge tells where the coverage ends in the list as it is now. */
const extend = (coverage: Coverage, read: PageRead, proof: Proof): Coverage => {
  const end = startOf(read) + read.rows;
  const adds = reachesBeyond(coverage, read, proof) || (read.role === "bridge" && read.ids.length > 0);
  const total = read.total;
  const reachedEnd = total === null ? isShort(read) : end >= total;
  // Fewer rows than asked for although more exist: the service clamps silently. Believe the rows, not the figure.
  const clamped = !reachedEnd && read.rows > 0 && read.rows < read.perPage;
  const stuck = !reachedEnd && read.rows === 0;
  return {
    ...coverage,
    size: clamped ? Math.min(coverage.size, read.rows) : coverage.size,
    // A page within the coverage still tells how far it reaches: rows that came in above it have pushed it down.
    end: adds || read.ids.at(-1) === coverage.tail.at(-1) ? end : Math.max(coverage.end, end),
    tail: adds ? read.ids.slice(-TAIL_IDS) : coverage.tail,
    head: coverage.end === 0 ? read.ids.slice(0, TAIL_IDS) : coverage.head,
    joinedTotal: total,
    fresh: true,
    bridgeAt: null,
    bridges: 0,
    proven: coverage.proven && !stuck,
    complete: reachedEnd || stuck,
  };
};

/** Where to step back to when `read` does not join: by the fall of the count, then further at each miss. */
const bridgeRow = (coverage: Coverage, read: PageRead): number => {
  const fall = Math.max(0, (coverage.joinedTotal ?? 0) - (read.total ?? coverage.joinedTotal ?? 0));
  const further = coverage.bridges === 0 ? 0 : Math.ceil(coverage.size * 2 ** (coverage.bridges - 4));
  return Math.max(0, coverage.end - 1 - fall - further);
};

const byStart = (a: PageSpan, b: PageSpan): number => startOf(a) - startOf(b) || endOf(a) - endOf(b);

/** A page that could not be joined: step back and bridge, or, once that has failed too often, go on unproven. */
const breakLink = (coverage: Coverage, read: PageRead, rest: readonly PageRead[]): Coverage => {
  if (coverage.bridges >= MAX_BRIDGES || coverage.repairs >= MAX_REPAIRS) {
    const end = Math.max(coverage.end, startOf(read));
    return extend({ ...coverage, waiting: [], proven: false, end }, { ...read, role: "cover" }, "identity");
  }
  return {
    ...coverage,
    // A bridge that missed has served; a covering page stays, to be joined once a bridge reaches it.
    waiting: read.role === "bridge" ? rest : coverage.waiting,
    bridgeAt: bridgeRow(coverage, read),
    bridges: coverage.bridges + 1,
    repairs: coverage.repairs + 1,
  };
};

/** Whether a page that only touches the end can be joined there: after a resume, and in overlapping walks, it cannot. */
const touchSuffices = ({ overlap, fresh }: Coverage): boolean => !overlap && fresh;

/** The waiting page to try next: a bridge before all others. One that only touches may have to wait for another. */
const nextToJoin = (coverage: Coverage): PageRead | undefined => {
  const { end, waiting } = coverage;
  const touches = end === 0 || touchSuffices(coverage);
  const reaches = waiting.filter((read) => startOf(read) < end || (startOf(read) === end && touches));
  return reaches.find((read) => read.role === "bridge") ?? reaches[0];
};

/** Takes in a page: joins it and whatever waited for it. Pages may come in any order. */
export const addRead = (before: Coverage, read: PageRead, proof: Proof): Coverage => {
  const moved = before.moved || (before.total !== null && read.total !== null && read.total !== before.total);
  let coverage: Coverage = {
    ...before,
    total: read.total ?? before.total,
    moved,
    overlap: before.overlap || moved,
    waiting: [...before.waiting, read].sort(byStart),
  };
  let bridged = false;
  for (;;) {
    if (coverage.complete) return { ...coverage, waiting: [], bridgeAt: null };
    const next = nextToJoin(coverage);
    if (next === undefined) return coverage;
    const rest = coverage.waiting.filter((candidate) => candidate !== next);
    if (joins(coverage, next, proof)) {
      bridged = bridged || next.role === "bridge";
      coverage = extend({ ...coverage, waiting: rest }, next, proof);
    } else if (bridged || (next.role === "bridge" && next !== read)) {
      // Read before the list moved: its rows are loaded, but its place says nothing any more.
      coverage = { ...coverage, waiting: rest };
    } else if (coverage.bridgeAt !== null && next.role !== "bridge") {
      return coverage;
    } else {
      return breakLink(coverage, next, rest);
    }
  }
};

/**
 * Up to `room` pages to ask for now, given those in flight. The first page goes alone: only its answer tells the
 * page size granted and how long the list is.
 */
export const nextReads = (
  coverage: Coverage,
  inFlight: readonly ReadRequest[],
  room: number,
): readonly ReadRequest[] => {
  if (coverage.complete || room <= 0) return [];
  if (coverage.end === 0) {
    return inFlight.length + coverage.waiting.length > 0 ? [] : [{ page: 1, perPage: coverage.size, role: "cover" }];
  }
  if (coverage.bridgeAt !== null) {
    if (inFlight.some((read) => read.role === "bridge")) return [];
    return [{ ...spanAt(coverage.bridgeAt, coverage.size), role: "bridge" }];
  }
  const reads: ReadRequest[] = [];
  const taken = [
    ...inFlight.map((span) => ({ start: startOf(span), end: endOf(span) })),
    ...coverage.waiting.map((read) => ({ start: startOf(read), end: startOf(read) + read.rows })),
  ];
  let row = coverage.end;
  while (reads.length < room) {
    const position = row;
    const touches = position === coverage.end ? touchSuffices(coverage) : !coverage.overlap;
    const passed = taken.find(
      (span) => (span.start < position || (touches && span.start === position)) && span.end > position,
    );
    if (passed !== undefined) {
      row = passed.end;
      continue;
    }
    if (coverage.total !== null && row >= coverage.total) break;
    if (coverage.total === null && reads.length + inFlight.length > 0) break;
    const shared = coverage.overlap || coverage.total === null || (!coverage.fresh && row === coverage.end);
    const overlapping = spanAt(shared ? row - 1 : row, coverage.size);
    // Pages of one or two rows cannot share a row and still get on.
    const span = endOf(overlapping) > row ? overlapping : spanAt(row, coverage.size);
    reads.push({ ...span, role: "cover" });
    row = endOf(span);
  }
  // The list has become as short as what is covered, without a page that proves it: look at its end once more.
  if (reads.length === 0 && inFlight.length === 0) {
    const last = Math.max(0, Math.min(coverage.end, coverage.total ?? coverage.end) - 1);
    return [{ ...spanAt(last, coverage.size), role: "bridge" }];
  }
  return reads;
};
