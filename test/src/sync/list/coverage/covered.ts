// Builders for coverage: pages of a list of 40 rows with falling ids, ten to a page, and its first two pages joined.

import { addRead, type Coverage, emptyCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import type { PageRead } from "../../../../../src/sync/list/coverage/read-types.ts";
import { descending, page as pageOfFive } from "../ways/readings.ts";

export const page = (more: Partial<PageRead> & { readonly ids: readonly string[] }): PageRead =>
  pageOfFive({ perPage: 10, total: 40, ...more });
export const numbered = (number: number, from: number, more: Partial<PageRead> = {}) =>
  page({ page: number, ids: descending(from, 10), ...more });
/** The first 20 of 40 rows, ids 1000 to 981. */
export const twenty = (overlap = false): Coverage => {
  const first = addRead(emptyCoverage(10, overlap), numbered(1, 1000), "descending");
  return { ...addRead({ ...first, overlap: false }, numbered(2, 990), "descending"), overlap };
};
