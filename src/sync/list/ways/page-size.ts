// The page size that a service grants, and which page proves it: a service may return fewer rows than a request asks for
// (docs/decisions/page-sizes.md). Pure.
import type { ReadRequest } from "../coverage/contract.ts";
import { startOf } from "../coverage/page-geometry.ts";
import { coverageOf, type Progress, readSoFar } from "./progress.ts";

/** What a page shows of its size. */
export interface ReturnedPage {
  readonly request: ReadRequest;
  readonly rows: number;
  /** `totalCount` and `perPage` of its `meta`. */
  readonly total: number | null;
  readonly saysPerPage: number | null;
  /** Rows of the largest page of the stream that the service has returned in this run. */
  readonly granted: number;
}

/** Rows that the strategy now asks for in a page: fewer than at first if the first page was short. */
export const pageSizeOf = (progress: Progress): number =>
  progress.kind === "log" ? progress.size : (coverageOf(progress)?.size ?? 0);

/**
 * True when the service answered a request for a later page of fewer rows than `largest`, which it has returned, with more rows,
 * or with too few and another size than asked: it takes pages of some sizes only, and the rows are those of another page.
 */
export const isOtherPage = ({ request, rows, total, saysPerPage, granted }: ReturnedPage, largest: number): boolean => {
  const isSmaller = request.page > 1 && request.perPage < largest && granted >= largest;
  const isShort = rows > 0 && rows < request.perPage && total !== null && startOf(request) + rows < total;
  return isSmaller && (rows > request.perPage || (isShort && saysPerPage !== request.perPage));
};

/**
 * Page size that the service grants to every list of the stream, null if this page proves none. A first page with fewer rows
 * than the service counts proves nothing alone: a service may count records that it never returns, and only rows behind
 * the page, or the service's own word, show that it was cut. `before`: how far the list was read before the page.
 */
export const provenPageSize = (before: Progress, page: ReturnedPage): number | null => {
  const { request, rows, total, granted } = page;
  if (rows === 0) return null;
  if (startOf(request) > 0) {
    const isBehind = startOf(request) + rows > readSoFar(before).end;
    return isBehind ? Math.max(pageSizeOf(before), granted) : null;
  }
  const isCut = rows < request.perPage && total !== null && total > rows;
  return isCut && page.saysPerPage === rows ? Math.max(rows, granted) : null;
};
