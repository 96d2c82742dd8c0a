// Compares a list with the mirror, for `verify`, by the number of rows in parts of it (ranges of days), within a number of credits. Parts
// with different counts are halved; then, as rows that came and went may balance, so are equal ones, the largest first. Pure;
// verify/check-parts.ts sends the requests.
import {
  type Compared,
  type Counting,
  type CountRequest,
  isSame,
  partsOf,
  readOf,
  SLACK,
  startCounting,
  undatedFrom,
  within,
} from "./counting.ts";
import { firstCountedDay } from "./filter-meaning.ts";
import type { Cut, Part, RowsPerDay } from "./rows-per-day.ts";

export type ComparingStep =
  /** One request, sorted by the field in descending order. */
  | ({ readonly kind: "ask" } & CountRequest)
  /** The pages of the part were read: rows of it that the mirror holds and they did not return may be gone. */
  | { readonly kind: "settle"; readonly part: Part; readonly seen: readonly string[] }
  /** Every part is compared, or the credits are spent. */
  | { readonly kind: "ends" }
  | { readonly kind: "gives-up"; readonly because: string };

/** `limit`: credits. */
export const startComparing = (facts: RowsPerDay, cut: Cut | null, limit: number): Counting => ({
  ...startCounting(facts.rows, facts, cut),
  both: true,
  limit,
});

/** The part was compared row by row. */
export const applyComparison = (state: Counting, part: Part): Counting => ({
  ...state,
  reading: null,
  settled: [...state.settled, part],
});

const isSettled = ({ settled }: Counting, part: Part): boolean => settled.some((each) => isSame(each, part));

/** Parts that are not compared row by row; those that differ first, then the largest. */
export const openParts = (state: Counting, facts: RowsPerDay): readonly Compared[] => {
  const undated = undatedFrom(facts);
  const isReading = (part: Part) => state.reading !== null && isSame(state.reading, part);
  return partsOf(state, facts)
    .filter((part) => !isSettled(state, part) && !(part.to === null && undated !== null && part.from === undated))
    .filter(({ count, difference }) => count > 0 || difference !== 0)
    .sort(
      (a, b) =>
        Number(isReading(b)) - Number(isReading(a)) ||
        Number(b.difference !== 0) - Number(a.difference !== 0) ||
        b.count - a.count,
    );
};

/** The next step. */
export const nextComparison = (state: Counting, facts: RowsPerDay): ComparingStep => {
  const { fault, head, cut, spent, limit } = state;
  if (fault !== null) return { kind: "gives-up", because: fault };
  if (head === null) return spent >= limit ? { kind: "ends" } : { kind: "ask", day: null, page: 1 };
  const open = openParts(state, facts);
  for (const part of open) {
    const read = readOf(state, facts, part);
    if (read?.ended === true) return { kind: "settle", part: { from: part.from, to: part.to }, seen: read.ids };
  }
  const [first] = open;
  if (first === undefined || spent >= limit) return { kind: "ends" };
  if (cut !== null) return within(state, facts, first);
  const day = firstCountedDay(facts.days, Math.abs(facts.rows - state.total) + SLACK);
  if (day === null) return { kind: "gives-up", because: "no day has enough rows to show what the filter means" };
  return { kind: "ask", day, page: 1 };
};
