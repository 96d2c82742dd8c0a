// Stored between runs in sync.capabilities: how the service applies each date filter of a list, which filters failed and when to try them
// again, and a counting search that a budget interrupted. Pure.
import { z } from "zod";
import type { StreamName } from "../../../catalog/streams.ts";
import type { Counting } from "./counting.ts";
import { priceOfCounting } from "./counting-price.ts";
import { CUTS, type Cut, DAY_MS, type RowsPerDay, rowsBefore } from "./rows-per-day.ts";

const filter = z.object({
  /** null: not known. */
  cut: z.enum(CUTS).nullable(),
  /** Searches in a row that failed, the reason, and the time before which none begins, ms since the epoch. */
  failures: z.number(),
  because: z.string().nullable(),
  notBefore: z.number(),
});

const memorySchema = z.object({
  /** By parameter. */
  filters: z.record(z.string(), filter),
  /** A search that ended with the credits: the rows that were gone, and by boundary how many of them lie before it. */
  open: z
    .object({
      before: z.string(),
      gone: z.number(),
      /** What the rest of the search costs. */
      credits: z.number(),
      boundaries: z.array(z.object({ day: z.number(), gone: z.number() })),
    })
    .nullable(),
  /** A list deeper than the service returns: the day before which its rest is read next, null: from the newest row. */
  deep: z.object({ before: z.string(), day: z.number().nullable() }).nullable().default(null),
});
export type CountingMemory = z.infer<typeof memorySchema>;

/** After the first failure; doubled with each further one. */
const FIRST_WAIT_MS = DAY_MS;
const MOST_DOUBLINGS = 6;

/** Name of what is remembered of a list. */
export const countingName = (stream: StreamName): string => `counting.${stream}`;

/** What was remembered; unreadable text is forgotten. */
export const countingMemory = (text: string | undefined): CountingMemory => {
  try {
    return memorySchema.parse(JSON.parse(text ?? "null"));
  } catch {
    return { filters: {}, open: null, deep: null };
  }
};

export const filterOf = ({ filters }: CountingMemory, before: string): CountingMemory["filters"][string] =>
  filters[before] ?? { cut: null, failures: 0, because: null, notBefore: 0 };

/** True when a search may begin by this filter: the last one succeeded, or failed long enough ago. */
export const isUsable = (memory: CountingMemory, before: string, now: number): boolean =>
  filterOf(memory, before).notBefore <= now;

const withFilter = (
  memory: CountingMemory,
  before: string,
  next: CountingMemory["filters"][string],
): CountingMemory => ({ ...memory, filters: { ...memory.filters, [before]: next }, open: null });

/** After a search that found every row. */
export const afterFound = (memory: CountingMemory, before: string, cut: Cut | null): CountingMemory =>
  withFilter(memory, before, { cut: cut ?? filterOf(memory, before).cut, failures: 0, because: null, notBefore: 0 });

/** After one that did not. */
export const afterFailure = (memory: CountingMemory, before: string, because: string, now: number): CountingMemory => {
  const { failures } = filterOf(memory, before);
  const notBefore = now + FIRST_WAIT_MS * 2 ** Math.min(failures, MOST_DOUBLINGS);
  return withFilter(memory, before, { cut: null, failures: failures + 1, because, notBefore });
};

/** After one that ended with the credits. */
export const afterCut = (
  memory: CountingMemory,
  before: string,
  state: Counting,
  facts: RowsPerDay,
): CountingMemory => {
  const { cut, boundaries, total } = state;
  const known = withFilter(memory, before, { ...filterOf(memory, before), cut });
  if (cut === null) return known;
  const gone = boundaries.map(({ day, count }) => ({ day, gone: rowsBefore(facts.days, cut, day) - count }));
  const left = facts.rows - total;
  const credits = Math.max(1, priceOfCounting(facts, left) - state.spent);
  return { ...known, open: { before, gone: left, credits, boundaries: gone } };
};

/** The search with the boundaries of one that was cut, if as many rows are gone now as were left then. */
export const resumeCounting = (
  state: Counting,
  { open }: CountingMemory,
  before: string,
  facts: RowsPerDay,
): Counting => {
  const { cut, total } = state;
  if (open === null || cut === null || open.before !== before || open.gone !== facts.rows - total) return state;
  const boundaries = open.boundaries.map(({ day, gone }) => ({
    day,
    count: rowsBefore(facts.days, cut, day) - gone,
    page: null,
  }));
  return { ...state, boundaries };
};
