// Price of finding rows that are gone by counting parts of a list, in credits. THE place of its numbers; docs/PLANNING.md shows
// the same table. Pure.
import type { Day } from "./days.ts";

/** The control: one row that a page returned is requested by id before 404s are trusted. */
const CONTROL = 1;
/** The first count cannot always be put where it halves the list. */
const SLACK = 1;
/** More differences than this are not looked for one by one. */
export const MOST_GONE = 250;

/** True when a part of this size is read; else it is halved. The difference then costs a count and a page each. */
export const isRead = (pages: number, difference: number): boolean => pages <= 2 * difference;

/** A list in which rows are looked for. */
export interface SearchedList {
  /** Pages of the list. */
  readonly pages: number;
  /** Pages of the day on which a row lies, on average: a day is not split. */
  readonly dayPages: number;
}

/** Counts and pages for `gone` rows, evenly scattered: no other place of them costs more. */
const search = (list: SearchedList, gone: number): number => {
  if (gone <= 0) return 0;
  const { pages, dayPages } = list;
  if (isRead(pages, gone)) return Math.ceil(pages);
  if (pages <= dayPages) return Math.ceil(dayPages);
  const half = { pages: pages / 2, dayPages };
  return 1 + search(half, Math.ceil(gone / 2)) + search(half, Math.floor(gone / 2));
};

/** Credits to find and prove `gone` rows. */
export const priceOfCounting = (list: SearchedList, gone: number): number =>
  gone === 0 ? 0 : search(list, gone) + CONTROL + SLACK;

/** True when counting is cheaper than reading the whole list. */
export const isWorthCounting = (list: SearchedList, gone: number): boolean =>
  gone > 0 && gone <= MOST_GONE && priceOfCounting(list, gone) < list.pages;

/** The list by its rows per day. */
export const searchedList = (days: readonly Pick<Day, "rows">[], rows: number, pageSize: number): SearchedList => {
  const squares = days.reduce((sum, day) => sum + day.rows * day.rows, 0);
  return { pages: rows / pageSize, dayPages: rows === 0 ? 0 : squares / rows / pageSize };
};
