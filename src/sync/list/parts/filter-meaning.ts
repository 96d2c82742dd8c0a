// Finds out how the service applies its date filter `before`, which API.md does not say: it ignores it, or returns only earlier rows, or
// also those of that midnight or of that whole day. The first counted page shows it, because it is sorted by the same field. Pure.
import { type Cut, type Day, isBefore, rowsBefore } from "./rows-per-day.ts";

/** A page that came with a count. */
export interface CountedPage {
  /** `totalCount`; null: not counted. */
  readonly total: number | null;
  readonly ids: readonly string[];
  /** Values of the field, ms since the epoch, one per record; null where absent or not a time. */
  readonly times: readonly (number | null)[];
}

/** True when the values descend and none is absent. */
const descends = (times: CountedPage["times"]): times is readonly number[] =>
  times.every((time, at) => {
    const previous = at === 0 ? time : times[at - 1];
    return time !== null && previous != null && previous >= time;
  });

/** Why the page cannot be one of rows `before` the day, however the filter cuts; null: it can. */
export const faultOf = (page: CountedPage, day: number | null): string | null => {
  if (page.total === null) return "the service does not count the rows of a filter";
  if (!descends(page.times)) return "the service does not sort by the date that the filter takes";
  const newest = page.times[0];
  if (day === null || newest == null) return null;
  return isBefore("whole-day", day, newest) ? null : "the service ignores the date filter";
};

/** True when a page `before` this day shows the filter's meaning, even if `gone` rows are missing. */
const shows = ({ rows, atMidnight }: Day, gone: number): boolean => {
  const later = rows - atMidnight;
  return rows > gone && (later === 0 || later > gone) && (atMidnight === 0 || later === 0 || atMidnight > gone);
};

/** The day to ask for first: the one nearest to the middle of the list of those that show the meaning; null: there is none. */
export const firstCountedDay = (days: readonly Day[], gone: number): number | null => {
  const all = days.reduce((sum, { rows }) => sum + rows, 0);
  let best: { readonly day: number; readonly off: number } | null = null;
  let earlier = 0;
  for (const each of days) {
    const off = Math.abs(earlier + each.rows / 2 - all / 2);
    earlier += each.rows;
    if (shows(each, gone) && (best === null || off < best.off)) best = { day: each.day, off };
  }
  return best?.day ?? null;
};

/** The meaning that the newest row of a page `before` the day shows; `known`, where several agree with it. */
const shownBy = (here: Day | undefined, gone: number, newest: number, known: Cut | null): Cut => {
  const { day, rows, atMidnight } = here ?? { day: newest + 1, rows: 0, atMidnight: 0 };
  if (newest > day) return "whole-day";
  if (newest === day) return rows - atMidnight > gone || known === "inclusive" ? "inclusive" : "whole-day";
  if (known === null || atMidnight > gone) return "exclusive";
  return known === "whole-day" && rows > gone ? "exclusive" : known;
};

/**
 * The meaning that a page agrees with: what it shows, or what earlier pages did. A text: the filter is not honoured, or has
 * another meaning, so it is not used. The mirror may hold between `least` and `gone` rows more than the service counts.
 */
export const meaningOf = (
  days: readonly Day[],
  asked: {
    readonly day: number;
    readonly gone: number;
    readonly least: number;
    readonly page: CountedPage;
    readonly known: Cut | null;
  },
): { readonly cut: Cut } | { readonly because: string } => {
  const { day, gone, least, page, known } = asked;
  const fault = faultOf(page, day);
  if (fault !== null) return { because: fault };
  const newest = page.times[0] ?? Number.NEGATIVE_INFINITY;
  const cut = shownBy(
    days.find((each) => each.day === day),
    gone,
    newest,
    known,
  );
  if (known !== null) return { cut };
  const difference = rowsBefore(days, cut, day) - (page.total ?? 0);
  const fits = difference >= least && difference <= gone;
  return fits ? { cut } : { because: "the service counts other rows before a date than the mirror holds" };
};
