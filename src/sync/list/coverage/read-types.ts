// Types that all ways of reading a list share (ways/): a requested page, a received page, what the mirror counts, and the next step. Types
// and schemas only.
import { z } from "zod";

export const readRequestSchema = z.object({
  page: z.number(),
  perPage: z.number(),
  /** Purpose of a read: cover the list, repair a broken link, or read the head again. */
  role: z.enum(["cover", "bridge", "head"]),
  /** Asked for after the rows before it were received, so its count is later than theirs. Unset: perhaps not. */
  follows: z.literal(true).optional(),
});
/** One page that a strategy requests. */
export type ReadRequest = Readonly<z.infer<typeof readRequestSchema>>;

export const pageReadSchema = readRequestSchema
  .extend({
    /** Ids of the records as text, in the order received; records without a usable id are left out. */
    ids: z.array(z.string()).readonly(),
    /** Records received, with or without an id. */
    rows: z.number(),
    /** Values of the stream's ordering field, ms since the epoch, one per record; null where absent or not a time. */
    values: z.array(z.number().nullable()).readonly(),
    /** `meta.totalCount`. */
    total: z.number().nullable(),
    /** The other paging figures say that more pages follow. Unset: they do not. */
    more: z.boolean().optional(),
    /** Rows of the largest page of this stream that the service returned before, in this run. Unset: unknown. */
    granted: z.number().optional(),
    /** The service refused the page, which does not prove that no row is there. Unset: it did not. */
    refused: z.boolean().optional(),
  })
  .readonly();
/** One received page. */
export type PageRead = z.infer<typeof pageReadSchema>;

/** State of the mirror after the last read was committed. */
export interface MirrorFacts {
  /** Rows of the scope in the mirror. */
  readonly rows: number;
  /** Number of rows that match the strategy's filter; null without a filter. */
  readonly matching: number | null;
  /** Number of distinct ids in this walk. */
  readonly seen: number;
  /** Number of records of this walk that could not be stored as rows. */
  readonly rejected: number;
  /** Counts of the last committed read. */
  readonly last: { readonly inserted: number; readonly updated: number; readonly unchanged: number } | null;
  /** `totalCount` minus rows after an earlier walk of an unchanged list: the count of such a service never agrees. */
  readonly acceptedGap: number;
}

/** The next step. */
export type Step =
  | { readonly kind: "read"; readonly reads: readonly ReadRequest[] }
  /** No request until a read in flight returns. */
  | { readonly kind: "wait" }
  /** The short read does not suffice: walk the whole list. */
  | { readonly kind: "walk"; readonly because: string }
  /** Changes were read over two runs, and the counts differ: those since the first of them may be missing. */
  | { readonly kind: "again" }
  /** The list does not show its changes first. `agrees`: its count is the mirror's, so a filter by date may find them. */
  | { readonly kind: "unordered"; readonly because: string; readonly agrees: boolean }
  /** The service ignores the filter by change date: the list is walked, now and in later syncs. */
  | { readonly kind: "unfiltered"; readonly because: string }
  /** The scope is up to date. */
  | {
      readonly kind: "done";
      /** Every row of the list was read and the counts agree, so rows that were not returned are gone. */
      readonly addsUp: boolean;
      /** The whole list was read, whether or not it adds up. */
      readonly whole: boolean;
    };

export const proofSchema = z.enum(["descending", "identity"]);
/** Proof that pages are contiguous: by descending ids, or only by ids that two neighbouring pages share. */
export type Proof = z.infer<typeof proofSchema>;
