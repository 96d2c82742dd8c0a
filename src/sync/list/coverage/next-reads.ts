// The next pages to request of a list, after those that were read without a gap. Pure.
import type { ReadRequest } from "./contract.ts";
import { type Coverage, touchSuffices } from "./coverage.ts";
import { isAtCount, isBehindCount } from "./list-end.ts";
import { cannotShare, endOf, spanAt, spanFrom, startOf } from "./page-geometry.ts";

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

/** Up to `room` pages behind those that were read. */
const sideBySide = (coverage: Coverage, inFlight: readonly ReadRequest[], room: number): readonly ReadRequest[] => {
  const reads: ReadRequest[] = [];
  const taken = [
    ...inFlight.map((span) => ({ start: startOf(span), end: endOf(span) })),
    ...coverage.waiting.map((read) => ({ start: startOf(read), end: startOf(read) + read.rows })),
  ];
  let row = coverage.end;
  while (reads.length < room) {
    const position = row;
    const suffices = position === coverage.end ? touchSuffices(coverage) : !coverage.overlap;
    const touches = suffices || cannotShare(position, coverage.size, coverage.fixed);
    const passed = taken.find(
      (span) => (span.start < position || (touches && span.start === position)) && span.end > position,
    );
    if (passed !== undefined) {
      row = passed.end;
      continue;
    }
    const isBehind = row === coverage.end && isBehindCount(coverage);
    if (isBehind && reads.length + inFlight.length > 0) break;
    if (coverage.total !== null && row >= coverage.total && !isBehind) {
      const isOpen = coverage.fresh && row === coverage.end && isAtCount(coverage);
      if (isOpen && reads.length + inFlight.length === 0)
        return [{ ...spanFrom(row, coverage.size, coverage.fixed), role: "cover" }];
      break;
    }
    if (coverage.total === null && reads.length + inFlight.length > 0) break;
    if (coverage.emptyFrom !== null && row >= coverage.emptyFrom && row > coverage.end) break;
    const shared = coverage.overlap || isBehind || coverage.total === null || (!coverage.fresh && row === coverage.end);
    const { fall } = coverage;
    const at = fall > 0 ? row - 1 - fall : shared ? row - 1 : row;
    const overlapping = spanAt(at, coverage.size, coverage.fixed);
    // Pages of one or two rows, or of one size, cannot share a row and still advance.
    const span = endOf(overlapping) > row ? overlapping : spanAt(row, coverage.size, coverage.fixed);
    reads.push({ ...span, role: "cover" });
    row = endOf(span);
  }
  // The list shrank to the covered length, but no page proves it: read its end once more.
  if (reads.length === 0 && inFlight.length === 0) {
    const last = Math.max(0, Math.min(coverage.end, coverage.total ?? coverage.end) - 1);
    return [{ ...spanAt(last, coverage.size, coverage.fixed), role: "bridge" }];
  }
  return reads;
};
