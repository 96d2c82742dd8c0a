// Of the rows of a page, those that lie near each other in the table. DuckDB reads them together in a third to an eighth of
// the time that it takes for the same rows one by one through the key's index. PURE.

/** Rows of a page, in two parts. */
export interface NearRows {
  /** Keys of the rows whose places are in `from` to `to`; null: too few lie near each other. */
  readonly near: { readonly keys: readonly string[]; readonly from: number; readonly to: number } | null;
  /** All other keys. */
  readonly others: readonly string[];
}

/** Rows that may be passed over for each that is read. */
const MOST_ROWS_PER_KEY = 20;
/** Fewer rows are read faster one by one. */
const LEAST_NEAR = 20;

/** Splits the keys of a page by the places of their rows. Both lists are of the same order and length. */
export const nearRows = (keys: readonly string[], places: readonly number[]): NearRows => {
  const rows = keys.map((key, index) => ({ key, place: places[index] ?? 0 })).sort((a, b) => a.place - b.place);
  const span = rows.length * MOST_ROWS_PER_KEY;
  // The window of places with the most rows: `end` only moves forward.
  let best = { start: 0, rows: 0 };
  let end = 0;
  for (const [start, { place }] of rows.entries()) {
    while ((rows[end]?.place ?? Number.POSITIVE_INFINITY) < place + span) end += 1;
    if (end - start > best.rows) best = { start, rows: end - start };
  }
  if (best.rows < LEAST_NEAR) return { near: null, others: keys };
  const inside = rows.slice(best.start, best.start + best.rows);
  const outside = [...rows.slice(0, best.start), ...rows.slice(best.start + best.rows)];
  return {
    near: {
      keys: inside.map(({ key }) => key),
      from: inside[0]?.place ?? 0,
      to: inside.at(-1)?.place ?? 0,
    },
    others: outside.map(({ key }) => key),
  };
};
