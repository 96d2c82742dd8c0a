// The end of a list: what proves that no row follows a page. Pure. docs/decisions/0117-the-end-of-a-list.md.
import type { PageRead, ReadRequest } from "./contract.ts";
import { startOf } from "./page-geometry.ts";

/** Search engines count no further by default: the service may have more rows than it says. */
const COUNTED_NO_FURTHER = 10_000;

/** What a `totalCount` counts. Nothing, beside rows, counts nothing, and neither does a count that may have been cut off. */
export const countOf = (totalCount: number | null, rows: number): number | null =>
  (totalCount === 0 && rows > 0) || totalCount === COUNTED_NO_FURTHER ? null : totalCount;

/**
 * True when no row follows the page. A count decides if there is one. Without it, an empty page is the end, and so is a
 * page with fewer rows than requested, if the service has returned a larger page of this stream in this run (`granted`,
 * rows). Otherwise the service may have reduced the page size silently, so the next page must be requested.
 */
export const provesEnd = (read: PageRead, granted: number): boolean => {
  if (read.total !== null) return startOf(read) + read.rows >= read.total;
  if (read.more === true) return false;
  return read.rows === 0 || read.rows < Math.min(read.perPage, granted);
};

/** Where a list was read to, and whether the service counts it. */
export interface ReadSoFar {
  /** Rows read without a gap, from the head of the list. */
  readonly end: number;
  readonly total: number | null;
}

/**
 * True when a request asks for what follows the last known row of a list without a count. Some services refuse such a
 * page instead of returning an empty one.
 */
export const asksBeyond = ({ end, total }: ReadSoFar, request: ReadRequest): boolean =>
  total === null && end > 0 && startOf(request) >= end;

/**
 * True for the empty page after a first page of one or two rows, in a list without a count. The first page is requested
 * again: if it still holds the same rows, none slipped between the two. `size`: rows of that page. `fresh`: it was read
 * in this run.
 */
export const followsOnlyPage = (
  { end, size, fresh }: Pick<ReadSoFar, "end"> & { readonly size: number; readonly fresh: boolean },
  read: PageRead,
): boolean => read.total === null && read.rows === 0 && end === size && fresh;
