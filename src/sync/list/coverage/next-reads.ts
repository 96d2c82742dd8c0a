// Chooses the pages of a list to request next: those after its coverage, or those that bridge a gap in it. Pure; it sends nothing.

import { type Coverage, touchSuffices } from "./coverage.ts";
import { isAtCount, isBehindCount } from "./list-end.ts";
import { cannotShare, endOf, type PageSpan, spanAt, spanFrom, startOf } from "./page-geometry.ts";
import type { ReadRequest } from "./read-types.ts";

/**
 * Up to `room` pages to request now, given those in flight. The first page is requested alone, because only its
 * response shows the granted page size and the length of the list.
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
    return [{ ...spanAt(coverage.bridgeAt, coverage.size, coverage.fixed), role: "bridge" }];
  }
  if (coverage.moved && !coverage.overlap) return nextAlone(coverage, inFlight);
  return sideBySide(coverage, inFlight, room);
};

/** The next page of a list that moves, of growing ids: asked for after the one before it, so that its count is later. */
const nextAlone = (coverage: Coverage, inFlight: readonly ReadRequest[]): readonly ReadRequest[] => {
  if (inFlight.length > 0) return [];
  const reads = sideBySide(coverage, inFlight, 1);
  return reads.map((read) => (startOf(read) <= coverage.end ? { ...read, follows: true } : read));
};

/** Rows of pages that were requested or wait, from `start` up to, not including, `end`. */
interface Taken {
  readonly start: number;
  readonly end: number;
}

/** True where the page behind the count shows whether more rows follow. */
const isOpenAt = (coverage: Coverage, row: number): boolean =>
  coverage.fresh && row === coverage.end && isAtCount(coverage);

/** The page that goes on at `row`: it shares a row with the one before where only that proves that they join. */
const pageAt = (coverage: Coverage, row: number, isBehind: boolean): PageSpan => {
  const { end, size, fixed, overlap, total, fresh, fall } = coverage;
  const shared = overlap || isBehind || total === null || (!fresh && row === end);
  const overlapping = spanAt(fall > 0 ? row - 1 - fall : shared ? row - 1 : row, size, fixed);
  // Pages of one or two rows, or of one size, cannot share a row and still advance.
  return endOf(overlapping) > row ? overlapping : spanAt(row, size, fixed);
};

/** The first row from `row` on that no page holds. */
const untaken = (coverage: Coverage, taken: readonly Taken[], row: number): number => {
  const suffices = row === coverage.end ? touchSuffices(coverage) : !coverage.overlap;
  const touches = suffices || cannotShare(row, coverage.size, coverage.fixed);
  const passed = taken.find(({ start, end }) => (start < row || (touches && start === row)) && end > row);
  return passed === undefined ? row : untaken(coverage, taken, passed.end);
};

/** The end of the list once more: it shrank to the covered length, but no page proves it. */
const lastRead = ({ end, total, size, fixed }: Coverage): ReadRequest => ({
  ...spanAt(Math.max(0, Math.min(end, total ?? end) - 1), size, fixed),
  role: "bridge",
});

/** Up to `room` pages behind those that were read. */
const sideBySide = (coverage: Coverage, inFlight: readonly ReadRequest[], room: number): readonly ReadRequest[] => {
  const { size, fixed, total, end, emptyFrom } = coverage;
  const taken = [
    ...inFlight.map((span) => ({ start: startOf(span), end: endOf(span) })),
    ...coverage.waiting.map((read) => ({ start: startOf(read), end: startOf(read) + read.rows })),
  ];
  // Behind a page that was empty although the count goes on, pages are requested one by one.
  const firstEmpty = Math.max(emptyFrom ?? Number.POSITIVE_INFINITY, end + 1);
  const reads: ReadRequest[] = [];
  for (let row = untaken(coverage, taken, end); reads.length < room; row = untaken(coverage, taken, row)) {
    const isFirst = reads.length + inFlight.length === 0;
    const isBehind = coverage.openEnd && row === end && isBehindCount(coverage);
    if (!isBehind && total !== null && row >= total) {
      if (isFirst && isOpenAt(coverage, row)) reads.push({ ...spanFrom(row, size, fixed), role: "cover" });
      break;
    }
    if ((!isFirst && (isBehind || total === null)) || row >= firstEmpty) break;
    const span = pageAt(coverage, row, isBehind);
    reads.push({ ...span, role: "cover" });
    row = endOf(span);
  }
  return reads.length === 0 && inFlight.length === 0 ? [lastRead(coverage)] : reads;
};
