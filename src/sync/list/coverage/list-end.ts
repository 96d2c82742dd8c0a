// Decides whether a page is the last one of its list, and whether the service's `totalCount` can be believed. A wrong end would leave
// rows unread, or request empty pages for ever. Pure. docs/decisions/end-of-a-list.md.
import { z } from "zod";
import { startOf } from "./page-geometry.ts";
import type { PageRead, ReadRequest } from "./read-types.ts";

/** Search engines count no further by default: the service may have more rows than it says. */
const COUNTED_NO_FURTHER = 10_000;

/** Other round numbers at which services stop to count. A list may be exactly as long, so the page behind decides. */
const ROUND = new Set([1_000, 5_000, 50_000, 100_000, 500_000, 1_000_000]);

/** What is known of a list when a page of it arrives. */
interface CountContext {
  /** Rows up to the end of the page. */
  readonly end: number;
  /** Rows of the list in the mirror, if its last walk ended without a count; else 0. */
  readonly uncounted: number;
}

/**
 * What a `totalCount` counts. Nothing, beside rows, counts nothing, and neither does a count that was cut off, or may have
 * been: a round number that the page, or the mirror of a list without a count, goes beyond.
 */
export const countOf = (
  totalCount: number | null,
  rows: number,
  { end, uncounted }: CountContext = { end: rows, uncounted: 0 },
): number | null => {
  if (totalCount === null || (totalCount === 0 && rows > 0) || totalCount === COUNTED_NO_FURTHER) return null;
  const isCut = ROUND.has(totalCount) && ((rows > 0 && end > totalCount) || uncounted > totalCount);
  return isCut ? null : totalCount;
};

/**
 * True when a full page ends at a round count, or goes beyond any count, so that only the page behind it shows where the list
 * ends.
 */
const mayBeCut = (read: PageRead, total: number): boolean => {
  const end = startOf(read) + read.rows;
  return read.rows === read.perPage && (end > total || (end === total && ROUND.has(total)));
};

/**
 * True when no row follows the page. A count decides if there is one. Without it, an empty page is the end, and so is a
 * page with fewer rows than requested, if the service has returned a larger page of this stream in this run (`granted`,
 * rows). Otherwise the service may have reduced the page size silently, so the next page must be requested.
 */
export const provesEnd = (read: PageRead, granted: number): boolean => {
  if (read.total !== null) return startOf(read) + read.rows >= read.total && !mayBeCut(read, read.total);
  if (read.more === true) return false;
  return read.rows === 0 || read.rows < Math.min(read.perPage, granted);
};

/** Where a list was read to, and whether the service counts it. */
export interface ReadSoFar {
  /** Rows read without a gap, from the head of the list. */
  readonly end: number;
  readonly total: number | null;
  /** The last page reached the count and was full, so rows may follow. */
  readonly openEnd: boolean;
}

/**
 * True when a request asks for what follows the last known row of a list without a count, or of one whose count may be cut
 * off. Some services refuse such a page instead of returning an empty one.
 */
export const isBeyondEnd = ({ end, total, openEnd }: ReadSoFar, request: ReadRequest): boolean =>
  end > 0 && startOf(request) >= end && (total === null || (openEnd && end >= total));

// What the page behind the count shows, where the end of a list is open (`openEnd`).

/** True when every counted row was read, and the page behind the count must be requested. */
export const isAtCount = ({ end, total, openEnd }: ReadSoFar): boolean => openEnd && total !== null && end === total;

/** True for a page behind the count that confirms it: empty, refused, or the last page again, as some services answer. */
export const confirmsCount = (soFar: ReadSoFar & { readonly tail: readonly string[] }, read: PageRead): boolean => {
  if (!isAtCount(soFar) || startOf(read) < soFar.end || (read.total ?? soFar.total) !== soFar.total) return false;
  return read.rows === 0 || (read.ids.length > 0 && read.ids.at(-1) === soFar.tail.at(-1));
};

/** True when the page reaches behind the count that it names, in a list whose end is open. */
export const isBehindCount = ({ end, total, openEnd }: ReadSoFar): boolean => openEnd && total !== null && end > total;

/** `totalCount` after a page without one: rows behind a round count show that it counts no further. */
export const totalAfter = (total: number | null, read: PageRead): number | null =>
  total !== null && read.rows > 0 && startOf(read) + read.rows > total && ROUND.has(total) ? null : total;

/** Ids kept of a page, to recognize it when it comes again. */
const MARK_IDS = 200;
/** Rows that came again, at most four a page, after which the list counts as going round: three pages, or twelve of one row. */
const MOST_AGAIN = 12;
const MOST_OF_PAGE = 4;

/** A page that was read, and how often its rows came again in pages behind it. */
export const lapSchema = z
  .object({
    mark: z.array(z.string()).readonly(),
    /** Row behind the marked page. */
    behind: z.number(),
    /** Covering pages that were read. */
    reads: z.number(),
    /** Rows of the marked page that came again, at most four for each page. */
    again: z.number(),
  })
  .readonly();
type Lap = z.infer<typeof lapSchema>;

export const noLap: Lap = { mark: [], behind: 0, reads: 0, again: 0 };

/**
 * The lap after a page. After 1, 2, 4, 8, … pages the page just read is marked, so pages that go round in a circle of any length
 * are found: a service that ignores `page`, or begins again behind the last row, has no last page. A page of any size counts if it ends
 * with a marked row, or begins as the marked one. In a list that grows at its head, pages begin with rows of which some were read, and end with others.
 */
export const lapAfter = (lap: Lap, read: PageRead): Lap => {
  if (read.role !== "cover" || read.ids.length === 0) return lap;
  const isBehind = lap.mark.length > 0 && startOf(read) >= lap.behind;
  const beginsAlike = read.ids[0] === lap.mark[0];
  const endsMarked = lap.mark.includes(read.ids.at(-1) ?? "");
  // Nearly no page is compared row by row.
  const common = isBehind && (beginsAlike || endsMarked) ? lap.mark.filter((id) => read.ids.includes(id)).length : 0;
  const comesAgain = endsMarked || common * 2 >= Math.min(lap.mark.length, read.ids.length);
  const again = comesAgain ? lap.again + Math.min(common, MOST_OF_PAGE) : lap.again;
  const reads = lap.reads + 1;
  const isMarked = Number.isInteger(Math.log2(reads)) && again < MOST_AGAIN;
  if (!isMarked) return { ...lap, reads, again };
  return { mark: read.ids.slice(0, MARK_IDS), behind: startOf(read) + read.rows, reads, again: 0 };
};

/** True when the pages come again and again, so reading on brings no further row. */
export const repeatsPages = ({ again }: Lap): boolean => again >= MOST_AGAIN;

/** What is known of a list where its rows were read to. */
interface KnownEnd {
  readonly end: number;
  readonly moved: boolean;
  readonly fresh: boolean;
  readonly joinedTotal: number | null;
}

/**
 * True when the second of two pages that should hold the last known rows is empty, in a list that shows no change: the
 * service returns no rows from there on, whatever it counts.
 */
export const isEmptyAgain = ({ end, moved, fresh, joinedTotal }: KnownEnd, read: PageRead): boolean =>
  read.role === "bridge" &&
  read.rows === 0 &&
  read.refused !== true &&
  fresh &&
  !moved &&
  read.total !== null &&
  read.total === joinedTotal &&
  read.total >= end;

/**
 * Row from which pages were empty although the count goes on, after one more page; null: none was, or rows follow it by more than
 * a page.
 */
export const emptyFromAfter = (emptyFrom: number | null, read: PageRead): number | null => {
  const start = startOf(read);
  if (read.rows > 0) return emptyFrom !== null && start + read.rows > emptyFrom + read.perPage ? null : emptyFrom;
  const isEarly = read.refused !== true && read.total !== null && read.total > start;
  return isEarly ? Math.min(emptyFrom ?? start, start) : emptyFrom;
};
