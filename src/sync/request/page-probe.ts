// Finds the largest page that a list grants, for `check`: requests the largest one first, and after each refusal, which is free, a smaller
// one. Requests ids only, so that a large page stays small. Pure; `check` (jobs/check.ts) sends the requests.
import type { ApiCall, OkOutcome } from "../../api/outcome.ts";
import { formAfterRefusal, initialForm } from "../list/form.ts";

/** Refusals after which nothing is learned: the page size is probably not at fault. */
const MOST_REFUSALS = 12;

type Filters = Readonly<Record<string, string>>;

/** A request of a list. `size`: rows of the page to ask for; null: one row, without any other parameter but filters. */
export interface Probe {
  readonly size: number | null;
  readonly refusals: number;
  /** The filters of the setting `scope`; null: the whole list. */
  readonly filters: Filters | null;
}

export const probeOf = (largest: number, filters: Filters | null = null): Probe => ({
  size: largest,
  refusals: 0,
  filters,
});

export const probeQuery = ({ size, filters }: Probe): ApiCall["query"] => ({
  ...(size === null ? { perPage: "1" } : { perPage: String(size), onlyWithFields: "id" }),
  ...filters,
});

/** The next request after a refusal; null: none is left. The whole list is asked for where the filters may be at fault. */
export const probeAfterRefusal = (probe: Probe, status: number, excerpt: string): Probe | null => {
  const { size, filters } = probe;
  const refusals = probe.refusals + 1;
  const isRefused = status === 400 || status === 422;
  if (size === null) return filters !== null && isRefused ? { size, refusals, filters: null } : null;
  // It cannot carry so large a page, or says it as a failure of its own.
  if (status === 413 || status === 414 || status >= 500) return { ...probe, size: null, refusals };
  if (!isRefused) return null;
  if (filters !== null && /filter|value/i.test(excerpt)) return { size, refusals, filters: null };
  const refused = { perPage: size, sort: false, include: false, content: false, names: false, filters: false };
  const next = formAfterRefusal(initialForm(size), refused, excerpt, { largest: size, elsewhere: null });
  const isField = /onlywithfields|field/i.test(excerpt);
  const ends = isField || next === null || refusals >= MOST_REFUSALS;
  return { ...probe, size: ends ? null : next.perPage, refusals };
};

/** Rows of a page that the answer shows; null: it shows none. Its rows are believed over its figures. */
export const pageShownBy = ({ size }: Probe, { data, page }: Pick<OkOutcome, "data" | "page">): number | null => {
  if (size === null) return null;
  const rows = Array.isArray(data) ? data.length : 0;
  if (rows > 0 && rows < size && (page.totalCount ?? 0) > rows) return rows;
  return page.perPage === null || page.perPage < 1 ? size : Math.min(size, page.perPage);
};
