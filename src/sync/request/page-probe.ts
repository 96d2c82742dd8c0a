// Finds the largest page that a list grants, with requests that cost nothing until one is answered: too large a page is
// refused. Only ids are asked for, so that a large page stays small. Pure.
import type { ApiCall, OkOutcome } from "../../api/outcome.ts";
import { initialShape, shapeAfterRefusal } from "./list-shape.ts";

/** Refusals after which nothing is learned: the page size is probably not at fault. */
const MOST_REFUSALS = 12;

/** A request of a list. `size`: rows of the page to ask for; null: one row, without any other parameter. */
export interface Probe {
  readonly size: number | null;
  readonly refusals: number;
}

export const probeOf = (largest: number): Probe => ({ size: largest, refusals: 0 });

export const probeQuery = ({ size }: Probe): ApiCall["query"] =>
  size === null ? { perPage: "1" } : { perPage: String(size), onlyWithFields: "id" };

/** The next request after a refusal; null: none is left. */
export const probeAfterRefusal = ({ size, refusals }: Probe, status: number, excerpt: string): Probe | null => {
  if (size === null) return null;
  // It cannot carry so large a page, or says it as a failure of its own.
  if (status === 413 || status === 414 || status >= 500) return { size: null, refusals: refusals + 1 };
  if (status !== 400 && status !== 422) return null;
  const refused = { perPage: size, sort: false, include: false, content: false, names: false, filters: false };
  const next = shapeAfterRefusal(initialShape(size), refused, excerpt, { largest: size, elsewhere: null });
  const isField = /onlywithfields|field/i.test(excerpt);
  const ends = isField || next === null || refusals + 1 >= MOST_REFUSALS;
  return { size: ends ? null : next.perPage, refusals: refusals + 1 };
};

/** Rows of a page that the answer shows; null: it shows none. Its rows are believed over its figures. */
export const pageShownBy = ({ size }: Probe, { data, page }: Pick<OkOutcome, "data" | "page">): number | null => {
  if (size === null) return null;
  const rows = Array.isArray(data) ? data.length : 0;
  if (rows > 0 && rows < size && (page.totalCount ?? 0) > rows) return rows;
  return page.perPage === null || page.perPage < 1 ? size : Math.min(size, page.perPage);
};
