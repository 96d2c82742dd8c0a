// A refusal of a reading of changes, which sends an order or a filter that a walk does not send: is it at fault? Pure.
import type { ListShape, RefusedRequest } from "../list/form.ts";

export interface ChangeReading {
  /** The list is read newest change first. */
  readonly ordered: boolean;
  /** Parameter of the filter by change date, if the list is read with it. */
  readonly filter: string | null;
  /** The list's shape at the first refusal; null: none, or the list was not returned before. */
  readonly accepted: ListShape | null;
}

/**
 * The shape without what only this reading sends; null: something else may be at fault. The response names it, or the list
 * was returned in `accepted` before and refuses a smaller page as well, so the size is not at fault. A fault that the
 * response does not name may pass: `settled` remains true, so the run does not store it.
 */
export const withoutChanges = (
  shape: ListShape,
  refused: RefusedRequest,
  excerpt: string,
  { ordered, filter, accepted }: ChangeReading,
): ListShape | null => {
  const before = accepted?.settled === true && refused.perPage < accepted.perPage ? accepted : null;
  if (ordered && refused.sort) {
    if (/sort|order/i.test(excerpt)) return { ...shape, changeOrder: false, settled: false };
    // A list that was walked without an order refuses this one, whatever it says.
    if (!shape.sort) return { ...shape, changeOrder: false };
    return before === null ? null : { ...before, changeOrder: false };
  }
  if (filter === null) return null;
  const isNamed = excerpt.toLowerCase().includes(filter.toLowerCase()) || /filter|\bdate/i.test(excerpt);
  if (isNamed) return { ...shape, changeFilter: false, settled: false };
  return before === null ? null : { ...before, changeFilter: false };
};
