// Page arithmetic: the (page, perPage) pairs that cover given rows of a list paged by offset.
// Pure. Source: API.md, "Conventions" (pagination); docs/decisions/paging.md.

/** Rows up to which pages that share rows are counted one by one. */
const MOST_COUNTED = 10_000_000;

/** One requested page: rows `(page - 1) * perPage` up to, not including, `page * perPage`. */
export interface PageSpan {
  readonly page: number;
  readonly perPage: number;
}

/** First row (0-based) of a page. */
export const startOf = (span: PageSpan): number => (span.page - 1) * span.perPage;

/** Index (0-based) after the last row of a page, if it is full. */
export const endOf = (span: PageSpan): number => span.page * span.perPage;

/**
 * The page that starts at row `at`, or as little before it as possible, and reaches furthest, with `perPage` between
 * half of `size` and `size`. `at = end` continues without overlap where possible; `at = end - 1` overlaps by one row.
 * `fixed`: the service takes pages of `size` rows only.
 */
export const spanAt = (at: number, size: number, fixed = false): PageSpan => {
  if (at <= 0) return { page: 1, perPage: size };
  if (fixed) return { page: Math.floor(at / size) + 1, perPage: size };
  let best = size;
  let bestReach = -1;
  for (let perPage = size; perPage >= Math.ceil(size / 2); perPage--) {
    const reach = perPage - (at % perPage);
    if (reach > bestReach) {
      best = perPage;
      bestReach = reach;
    }
    if (perPage <= bestReach) break;
  }
  return { page: Math.floor(at / best) + 1, perPage: best };
};

/**
 * Number of pages that cover `total` rows, each sharing a row with the one before where a page of at most `size` rows
 * does: of small pages, some end where all others do.
 */
export const overlappingPages = (total: number, size: number): number => {
  // Nobody waits for the pages of a list that long, and its count is hardly true.
  if (total > MOST_COUNTED) return Math.ceil(total / size);
  let pages = 1;
  for (let end = size; end < total; pages += 1) {
    const next = endOf(spanAt(end - 1, size));
    end = next > end ? next : end + size;
  }
  return pages;
};

/** The largest page that starts exactly at `row`; if `fixed`, the page that holds it. */
export const spanFrom = (row: number, size: number, fixed = false): PageSpan => {
  if (fixed) return spanAt(row, size, fixed);
  let perPage = size;
  while (row % perPage !== 0) perPage -= 1;
  return { page: row / perPage + 1, perPage };
};

/** True when no page holds the rows on both sides of `row`: each page size that the service grants divides it. */
export const cannotShare = (row: number, size: number, fixed = false): boolean =>
  row > 0 && endOf(spanAt(row - 1, size, fixed)) <= row;
