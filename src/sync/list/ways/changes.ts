// Way of reading `watermark`, for incremental reads: pages of the newest changes until one is older than the watermark; then the counts of
// service and mirror must agree. Detects a service that does not sort, and asks for a walk instead. Pure.
import { z } from "zod";
import { counted } from "../../../core/text/units.ts";
import { addRead, coverageSchema, emptyCoverage } from "../coverage/coverage.ts";
import { nextReads } from "../coverage/next-reads.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/read-types.ts";

export const watermarkSchema = z
  .object({
    kind: z.literal("watermark"),
    coverage: coverageSchema,
    /**
     * Number of pages read. A row that changes between two pages moves to the head unnoticed; only a single page is
     * consistent.
     */
    pages: z.number(),
    /** Time after which changes are wanted, ms since the epoch: watermark minus overlap. */
    since: z.number(),
    sorted: z.boolean(),
    reachedKnown: z.boolean(),
    /** Its first pages are of an earlier run: what changed since then is not among them. */
    resumed: z.boolean(),
  })
  .readonly();
type WatermarkState = z.infer<typeof watermarkSchema>;

export const startWatermark = (options: { size: number; since: number }): WatermarkState => ({
  kind: "watermark",
  coverage: emptyCoverage(options.size, true),
  pages: 0,
  since: options.since,
  sorted: true,
  reachedKnown: false,
  resumed: false,
});

/** True when the values descend, with records without a value last. */
const descends = (values: readonly (number | null)[]): boolean =>
  values.every((value, index) => {
    const previous = index === 0 ? undefined : values[index - 1];
    if (previous === undefined || value === null) return true;
    return previous !== null && previous >= value;
  });

export const acceptWatermark = (state: WatermarkState, read: PageRead): WatermarkState => {
  const { coverage, pages, since, sorted, reachedKnown } = state;
  return {
    ...state,
    coverage: addRead(coverage, read, "identity"),
    pages: pages + 1,
    sorted: sorted && descends(read.values),
    reachedKnown: reachedKnown || read.values.some((value) => value === null || value < since),
  };
};

/** True when the one page that was read holds the whole list. In one page, the order does not matter. */
const isWholePage = ({ coverage, pages }: WatermarkState, { seen, rejected }: MirrorFacts): boolean =>
  coverage.proven && coverage.complete && pages === 1 && seen + rejected === coverage.total;

/**
 * True when a page held nothing new: the rows behind it did not change either. Without this rule, a list whose rows share one
 * date would be read to its end every time. Before its first page, the last page is that of another reading.
 */
const isQuiet = ({ pages }: WatermarkState, { last }: MirrorFacts): boolean =>
  pages > 0 && last !== null && last.inserted === 0 && last.updated === 0;

export const nextWatermark = (
  state: WatermarkState,
  facts: MirrorFacts,
  inFlight: readonly ReadRequest[],
  field: string,
): Step => {
  const { coverage, resumed } = state;
  if (inFlight.length > 0) return { kind: "wait" };
  const { total } = coverage;
  const agrees = total === null || total - facts.rows === facts.acceptedGap;
  if (isWholePage(state, facts)) return { kind: "done", addsUp: true, whole: true };
  if (!state.sorted) return { kind: "unordered", because: `the service does not sort by ${field}`, agrees };
  // A list that ends before its count, as far as it always does, did not move.
  if (!coverage.proven && !(coverage.endsEarly && agrees)) {
    return { kind: "walk", because: "the list moved while its changes were read" };
  }
  if (!coverage.complete && !state.reachedKnown && !(agrees && isQuiet(state, facts))) {
    const reads = nextReads(coverage, inFlight, 1);
    return reads.length > 0 ? { kind: "read", reads } : { kind: "wait" };
  }
  if (agrees) return { kind: "done", addsUp: false, whole: false };
  if (resumed) return { kind: "again" };
  return { kind: "walk", because: `the service counts ${counted(total, "row")}, the mirror ${facts.rows}` };
};
