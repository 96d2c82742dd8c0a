// Price, in credits, of finding deleted rows by counting parts of a list, to compare it with a walk. THE place of its numbers;
// docs/PLANNING.md shows the same table. Pure.
import type { RowsPerDay } from "./rows-per-day.ts";

/** The control: one row that a page returned is requested by id before 404s are trusted. */
const CONTROL = 1;
/** The first count cannot always be put where it halves the list. */
const SLACK = 1;
/** More differences than this are not looked for one by one. */
export const MOST_GONE = 250;

/** True when a part of this size is read; else it is halved. The difference then costs a count and a page each. */
export const isRead = (pages: number, difference: number): boolean => pages <= 2 * difference;

/** Counts and pages for `gone` rows, evenly scattered: no other place of them costs more. `dayPages`: a day is not split. */
const search = (pages: number, dayPages: number, gone: number): number => {
  if (gone <= 0) return 0;
  if (isRead(pages, gone)) return Math.ceil(pages);
  if (pages <= dayPages) return Math.ceil(dayPages);
  const half = (part: number) => search(pages / 2, dayPages, part);
  return 1 + half(Math.ceil(gone / 2)) + half(Math.floor(gone / 2));
};

/** Credits to find and prove `gone` rows of the list. */
export const priceOfCounting = ({ rows, days, pageSize }: RowsPerDay, gone: number): number => {
  if (gone === 0) return 0;
  const squares = days.reduce((sum, day) => sum + day.rows * day.rows, 0);
  // The pages of the day on which a row lies, on average.
  const dayPages = rows === 0 ? 0 : squares / rows / pageSize;
  return search(rows / pageSize, dayPages, gone) + CONTROL + SLACK;
};

/** True when counting is cheaper than reading the whole list. */
export const isWorthCounting = (facts: RowsPerDay, gone: number): boolean =>
  gone > 0 && gone <= MOST_GONE && priceOfCounting(facts, gone) < facts.rows / facts.pageSize;
