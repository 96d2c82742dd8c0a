// Way of reading `filter`, for a list that cannot be sorted by its change date (contacts, `lastChangeDetectedAfter`): the records that a
// date filter returns. Their count must equal the mirror's for the same filter. First a page of the whole list shows the whole count,
// because the filter shows neither deletes nor undated records. Pure.
import { z } from "zod";
import { counted } from "../../../core/text/units.ts";
import { addRead, coverageSchema, emptyCoverage } from "../coverage/coverage.ts";
import { nextReads } from "../coverage/next-reads.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/read-types.ts";

export const filterSchema = z
  .object({
    kind: z.literal("filter"),
    coverage: coverageSchema,
    /** Time after which changes are wanted, ms since the epoch. */
    since: z.number(),
    /** Only these records were asked for (`sync --since`): nothing is concluded about the rest of the list. */
    only: z.boolean(),
    /** A record was returned that the filter leaves out, so the service ignores it. */
    ignored: z.boolean(),
    /** The next page is the first one of the whole list, which is read for its count alone. */
    counting: z.boolean(),
    /** `totalCount` of the whole list; null: not read, or the service counts nothing. */
    total: z.number().nullable(),
  })
  .readonly();
type FilterState = z.infer<typeof filterSchema>;

/** Records this much older than asked for are no doubt of the filter: it may take days, in any zone. */
const BY_DAY_MS = 2 * 86_400_000;

/** `counted`: the service has counted the list before, so its count is read first. */
export const startFilter = (options: {
  size: number;
  since: number;
  only?: boolean;
  counted?: boolean;
}): FilterState => ({
  kind: "filter",
  coverage: emptyCoverage(options.size, true),
  since: options.since,
  only: options.only ?? false,
  ignored: false,
  counting: options.counted ?? false,
  total: null,
});

export const acceptFilter = (state: FilterState, read: PageRead): FilterState => {
  if (state.counting) return { ...state, counting: false, total: read.total };
  return {
    ...state,
    coverage: addRead(state.coverage, read, "identity"),
    ignored: state.ignored || read.values.some((value) => value === null || value < state.since - BY_DAY_MS),
  };
};

export const nextFilter = (state: FilterState, facts: MirrorFacts, inFlight: readonly ReadRequest[]): Step => {
  const { coverage, total } = state;
  if (state.ignored && !state.only && inFlight.length === 0)
    return { kind: "unfiltered", because: "the service ignores the filter by change date" };
  if (!coverage.complete) {
    const reads = inFlight.length > 0 ? [] : nextReads(coverage, inFlight, 1);
    return reads.length > 0 ? { kind: "read", reads } : { kind: "wait" };
  }
  if (inFlight.length > 0) return { kind: "wait" };
  const done = { kind: "done", addsUp: false, whole: false } as const;
  if (state.only) return done;
  if (!coverage.proven) return { kind: "walk", because: "the list moved while its changes were read" };
  if (coverage.total !== null && facts.matching !== null && coverage.total !== facts.matching) {
    return {
      kind: "walk",
      because: `the service counts ${coverage.total} recent changes, the mirror ${facts.matching}`,
    };
  }
  // New records that the filter returned are rows by now.
  if (total !== null && total - facts.rows !== facts.acceptedGap) {
    return { kind: "walk", because: `the service counts ${counted(total, "row")}, the mirror ${facts.rows}` };
  }
  return done;
};
