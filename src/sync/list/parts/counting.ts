// Finds rows that are gone by counting parts of a list. Pure.
//
//   probing ──▶ halving ──▶ reading ──▶ settling ──▶ ... ──▶ agrees
//      │           │ a part that differs by d and has p pages is read if 2·d >= p, else counted `before` its middle day;
//      │           │ the count of the other half follows. Parts whose counts agree are not asked for again.
//      └───────────┴── counts or rows contradict each other, or the price is spent ──▶ gives up: the list is walked
//
// One filter cuts the list, `before` a day, so every row lies in exactly one part. Pages are sorted by the same field: the pages
// `before` the upper boundary, down to the lower one, are the part, and the first of them came with the count of the boundary.

import { isRead, priceOfCounting } from "./counting-price.ts";
import { type CountedPage, faultOf, firstCountedDay, meaningOf } from "./filter-meaning.ts";
import { type Cut, DAY_MS, isBefore, middleDay, type Part, type RowsPerDay, rowsBefore } from "./rows-per-day.ts";

/** A boundary and the service's rows before it. */
interface Boundary {
  readonly day: number;
  readonly count: number;
  /** Rows of its first page; null: asked for in an earlier run. */
  readonly page: Pick<CountedPage, "ids" | "times"> | null;
}

interface Reading extends Part {
  /** The last page read, and the rows of the part on the pages so far. */
  readonly page: number;
  readonly rows: number;
  readonly ids: readonly string[];
  /** The pages reached a row before `from`, or the end. */
  readonly ended: boolean;
}

export interface Counting {
  /** The service's count of the whole list. */
  readonly total: number;
  /** First page of the whole list in the field's order; null: not read. */
  readonly head: Boundary["page"];
  readonly cut: Cut | null;
  /** An earlier search showed the meaning of the filter. */
  readonly proven: boolean;
  /** The mirror may lack rows, too: parts may differ in both directions (comparing.ts). */
  readonly both: boolean;
  /** In ascending order. */
  readonly boundaries: readonly Boundary[];
  readonly reading: Reading | null;
  /** Parts that were read and settled. One that still differs is not read again. */
  readonly settled: readonly Part[];
  /** Credits. */
  readonly spent: number;
  readonly limit: number;
  /** Boundaries or the whole list were counted again, because rows went while the parts were counted. */
  readonly recounted: boolean;
  readonly fault: string | null;
}

/** `day` null: of the whole list. */
export interface CountRequest {
  readonly day: number | null;
  readonly page: number;
}

export type CountingStep =
  /** One request, sorted by the field in descending order. */
  | ({ readonly kind: "ask" } & CountRequest)
  /** Rows of the part that the mirror holds and the pages did not return are suspects; `most` of them are gone. */
  | { readonly kind: "settle"; readonly part: Part; readonly seen: readonly string[]; readonly most: number }
  | { readonly kind: "agrees" }
  | { readonly kind: "gives-up"; readonly because: string };

/** Rows by which a part may contradict another if a search by this filter succeeded before: the list may change meanwhile. */
export const SLACK = 2;
/** Credits beyond the price, so that a search that goes on as expected is not broken off. */
const limitOf = (price: number): number => Math.ceil(price * 1.25) + 3;

export const startCounting = (total: number, facts: RowsPerDay, cut: Cut | null): Counting => ({
  total,
  head: null,
  cut,
  proven: cut !== null,
  both: false,
  boundaries: [],
  reading: null,
  settled: [],
  spent: 0,
  limit: limitOf(priceOfCounting(facts, facts.rows - total)),
  recounted: false,
  fault: null,
});

export interface Compared extends Part {
  /** Mirrored rows before the boundaries. */
  readonly least: number;
  readonly most: number;
  /** The service's rows in the part, and before its upper boundary. */
  readonly count: number;
  readonly upTo: number;
  /** Rows that the mirror holds beyond them. */
  readonly difference: number;
  /** First page before the upper boundary; null: not read. */
  readonly page: Boundary["page"];
}

/** The parts between the boundaries, newest first. */
export const partsOf = (
  { total, head, cut, boundaries }: Counting,
  { rows, days }: RowsPerDay,
): readonly Compared[] => {
  const ends = [
    { day: null, count: 0, mirrored: 0, page: null },
    ...boundaries.map((each) => ({ ...each, mirrored: rowsBefore(days, cut ?? "exclusive", each.day) })),
    { day: null, count: total, mirrored: rows, page: head },
  ];
  return ends
    .slice(1)
    .map((to, index) => {
      const from = ends[index] ?? to;
      const count = to.count - from.count;
      const difference = to.mirrored - from.mirrored - count;
      return {
        ...{ from: from.day, to: to.day, least: from.mirrored, most: to.mirrored },
        ...{ count, upTo: to.count, difference, page: to.page },
      };
    })
    .reverse();
};

export const isSame = (one: Part, other: Part): boolean => one.from === other.from && one.to === other.to;

/** The whole list is counted again: more rows went while its parts were counted, or came. */
const RECOUNT: CountingStep = { kind: "ask", day: null, page: 1 };

const giveUp = (because: string): CountingStep => ({ kind: "gives-up", because });

/** The first count, which shows what the filter means. */
const probe = ({ days }: RowsPerDay, gone: number): CountingStep => {
  const day = firstCountedDay(days, gone);
  return day === null ? giveUp("no day has enough rows to show what the filter means") : { kind: "ask", day, page: 1 };
};

/** The reading with one more page of the part. */
const withPage = (
  { cut }: Counting,
  { pageSize }: RowsPerDay,
  { from, to, upTo, count }: Compared,
  soFar: Pick<Reading, "page" | "ids" | "rows">,
  { ids, times }: Pick<CountedPage, "ids" | "times">,
): Reading => {
  const isBelow = (time: number | null) => from !== null && time !== null && isBefore(cut ?? "exclusive", from, time);
  const below = times.filter(isBelow).length;
  const rows = soFar.rows + times.length - below;
  const page = soFar.page + 1;
  const ended = below > 0 || rows >= count || page * pageSize >= upTo || times.length === 0;
  return { from, to, page, rows, ids: [...soFar.ids, ...ids], ended };
};

/** The part as far as it was read; null: not at all. */
export const readOf = (state: Counting, facts: RowsPerDay, part: Compared): Reading | null => {
  if (state.reading !== null && isSame(state.reading, part)) return state.reading;
  return part.page === null ? null : withPage(state, facts, part, { page: 0, ids: [], rows: 0 }, part.page);
};

/** First day after all dated rows, if the list has rows without a date: these are no part of what pages by date show. */
export const undatedFrom = ({ rows, days }: RowsPerDay): number | null => {
  const last = days.at(-1);
  const dated = days.reduce((sum, day) => sum + day.rows, 0);
  return last === undefined || dated >= rows ? null : last.day + DAY_MS;
};

/** Reads the part on, or halves it. A part that does not differ is read only where it cannot be halved. */
export const within = (state: Counting, facts: RowsPerDay, part: Compared): { readonly kind: "ask" } & CountRequest => {
  const { to, least, most, count, difference } = part;
  const undated = to === null ? undatedFrom(facts) : null;
  if (undated !== null) return { kind: "ask", day: undated, page: 1 };
  const read = readOf(state, facts, part);
  const on = { kind: "ask", day: to, page: (read?.page ?? 0) + 1 } as const;
  if (read !== null && read.page > 1) return on;
  const pages = count / facts.pageSize - (read === null ? 0 : 1);
  if (difference !== 0 && isRead(pages, Math.abs(difference))) return on;
  const middle = middleDay(facts.days, state.cut ?? "exclusive", least, most);
  return middle === null ? on : { kind: "ask", day: middle, page: 1 };
};

/** Settles the part if it was read, else reads it on or halves it. */
const find = (state: Counting, facts: RowsPerDay, part: Compared): CountingStep => {
  const { from, to, difference } = part;
  const read = readOf(state, facts, part);
  if (read?.ended === true) return { kind: "settle", part: { from, to }, seen: read.ids, most: difference };
  const undated = to === null ? undatedFrom(facts) : null;
  if (undated !== null && from !== null && from >= undated) return giveUp("rows without a date are gone");
  return within(state, facts, part);
};

/** The next step. */
export const nextCount = (state: Counting, facts: RowsPerDay): CountingStep => {
  const { total, spent, limit, settled, fault, recounted, cut } = state;
  const gone = facts.rows - total;
  if (fault !== null) return giveUp(fault);
  if (gone === 0) return { kind: "agrees" };
  const part = partsOf(state, facts).find(({ difference }) => difference > 0);
  const isKnown = part === undefined || settled.some((each) => isSame(each, part));
  if (part !== undefined && isKnown) return giveUp("the rows of a part that was read do not add up");
  const step = part === undefined || gone < 0 ? RECOUNT : cut === null ? probe(facts, gone) : find(state, facts, part);
  if (step === RECOUNT && recounted) return giveUp("the counts of the parts contradict each other");
  return step.kind === "ask" && spent >= limit ? giveUp(`it took ${spent} credits`) : step;
};

/** Adds the answer to a step that asked. */
export const applyCount = (
  state: Counting,
  facts: RowsPerDay,
  { day, page }: CountRequest,
  answer: CountedPage,
): Counting => {
  const paid = { ...state, spent: state.spent + 1 };
  const fault = faultOf(answer, day);
  if (fault !== null || answer.total === null) return { ...paid, fault };
  if (page > 1) {
    const part = partsOf(state, facts).find(({ to }) => to === day);
    const soFar = part === undefined ? null : readOf(state, facts, part);
    if (part === undefined || soFar === null) return { ...paid, fault: "a page belongs to no part" };
    return { ...paid, reading: withPage(state, facts, part, soFar, answer) };
  }
  const found = { count: answer.total, page: { ids: answer.ids, times: answer.times } };
  if (day === null) {
    const isAgain = partsOf(state, facts).every(({ difference }) => difference <= 0);
    return { ...paid, total: found.count, head: found.page, recounted: state.recounted || isAgain };
  }
  const off = facts.rows - state.total;
  const range = state.both ? { gone: Math.abs(off) + SLACK, least: -Math.abs(off) - SLACK } : { gone: off, least: 0 };
  const meaning = meaningOf(facts.days, { day, ...range, page: answer, known: state.cut });
  if ("because" in meaning) return { ...paid, fault: meaning.because };
  const boundaries = [...state.boundaries.filter((each) => each.day !== day), { day, ...found }];
  const next = { ...paid, cut: meaning.cut, boundaries: boundaries.sort((a, b) => a.day - b.day) };
  const isOff =
    !state.both &&
    partsOf(next, facts).some(
      ({ from, to, difference }) => (from === day || to === day) && difference < (state.proven ? -SLACK : 0),
    );
  return isOff ? { ...next, fault: "the counts of the parts contradict each other" } : next;
};

/**
 * The part was settled: rows of it that are gone were deleted. If it still differs, a row below it went after its lower boundary was
 * counted, so the boundaries below are counted anew, once.
 */
export const applySettled = (state: Counting, facts: RowsPerDay, part: Part): Counting => {
  const next = { ...state, reading: null, settled: [...state.settled, part] };
  const { from } = part;
  const differs = partsOf(next, facts).some((each) => isSame(each, part) && each.difference > 0);
  if (!differs || from === null || state.recounted || !state.proven) return next;
  return { ...next, recounted: true, boundaries: state.boundaries.filter(({ day }) => day > from) };
};
