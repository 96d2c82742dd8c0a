// What every strategy speaks: reads it asks for, reads it got, facts about the mirror, and the next step.
// Strategies are pure: state in, state out; the loop in sync/ fetches, loads and asks what is next.
import type { PageSpan } from "./page-geometry.ts";

/** Why a page is read: to cover the list, to repair a broken link, or to look at the head again. */
type ReadRole = "cover" | "bridge" | "head";

/** One page a strategy wants. */
export interface ReadRequest extends PageSpan {
  readonly role: ReadRole;
}

/** One page that came back. */
export interface PageRead extends ReadRequest {
  /** Ids of the records as text, in the order received; records without a usable id are left out. */
  readonly ids: readonly string[];
  /** Records received, with or without an id. */
  readonly rows: number;
  /** Values of the stream's ordering field, ms since the epoch, one per record; null where absent or not a time. */
  readonly values: readonly (number | null)[];
  /** `meta.totalCount`. */
  readonly total: number | null;
}

/** What the mirror knows after the last read was committed. */
export interface MirrorFacts {
  /** Rows of the scope in the mirror. */
  readonly rows: number;
  /** Rows that match the strategy's filter, for strategies that use one. */
  readonly matching: number | null;
  /** Distinct ids this walk has seen. */
  readonly seen: number;
  /** Records of this walk that could not be stored as rows. */
  readonly rejected: number;
  /** What the last committed read changed. */
  readonly last: { readonly inserted: number; readonly updated: number; readonly unchanged: number } | null;
  /** `totalCount` minus rows that an earlier walk at rest ended with: a service whose count never agrees. */
  readonly acceptedGap: number;
}

/** What to do next. */
export type Step =
  | { readonly kind: "read"; readonly reads: readonly ReadRequest[] }
  /** Nothing to ask for until a read in flight comes back. */
  | { readonly kind: "wait" }
  /** The cheap way does not suffice: walk the whole list. `remember` names a capability to store. */
  | { readonly kind: "walk"; readonly because: string; readonly remember: "order-ignored" | null }
  /** The scope is up to date. */
  | {
      readonly kind: "done";
      /** Every row of the list was read and the counts agree: rows not seen are gone. */
      readonly addsUp: boolean;
      /** The whole list was read, whether or not it adds up. */
      readonly whole: boolean;
      readonly because: string;
    };

/** Whether ids prove contiguity by their order, or only by turning up in two neighbouring pages. */
export type Proof = "descending" | "identity";
