// Types shared by all strategies: requested reads, received reads, facts about the mirror, the next step. Strategies
// are pure: they take and return state; the loop in sync/run fetches and loads.
import type { PageSpan } from "./page-geometry.ts";

/** Purpose of a read: cover the list, repair a broken link, or read the head again. */
type ReadRole = "cover" | "bridge" | "head";

/** One page that a strategy requests. */
export interface ReadRequest extends PageSpan {
  readonly role: ReadRole;
  /** Asked for after the rows before it were received, so its count is later than theirs. Unset: perhaps not. */
  readonly follows?: true | undefined;
}

/** One received page. */
export interface PageRead extends ReadRequest {
  /** Ids of the records as text, in the order received; records without a usable id are left out. */
  readonly ids: readonly string[];
  /** Records received, with or without an id. */
  readonly rows: number;
  /** Values of the stream's ordering field, ms since the epoch, one per record; null where absent or not a time. */
  readonly values: readonly (number | null)[];
  /** `meta.totalCount`. */
  readonly total: number | null;
  /** The other paging figures say that more pages follow. Unset: they do not. */
  readonly more?: boolean | undefined;
  /** Rows of the largest page of this stream that the service returned before, in this run. Unset: unknown. */
  readonly granted?: number | undefined;
  /** The service refused the page, which does not prove that no row is there. Unset: it did not. */
  readonly refused?: boolean | undefined;
}

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
  | { readonly kind: "again"; readonly because: string }
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
      readonly because: string;
    };

/** Proof that pages are contiguous: by descending ids, or only by ids that two neighbouring pages share. */
export type Proof = "descending" | "identity";
