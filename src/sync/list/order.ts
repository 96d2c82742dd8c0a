// What a plan orders to be read: one list, or one record, and in which way. The state of its reading is in state.ts.
import type { StreamName } from "../../catalog/streams.ts";
import type { Work } from "../../warehouse/record/checkpoint.ts";

/** Way of reading a scope. */
export type ScopeMode =
  | "walk"
  | "watermark"
  | "filter"
  | "known"
  | "log"
  | "on-change"
  | "resolve"
  | "detail"
  | "capture";

const WORK_OF_MODE: Readonly<Record<ScopeMode, Work>> = {
  walk: "walk",
  watermark: "look",
  filter: "look",
  known: "look",
  log: "reading",
  capture: "reading",
  "on-change": "record",
  resolve: "record",
  detail: "content",
};

/** The kind of work that budgets and the ledger count it as. */
export const workOf = (mode: ScopeMode): Work => WORK_OF_MODE[mode];

export interface ReadingOrder {
  readonly stream: StreamName;
  readonly scope: string;
  readonly mode: ScopeMode;
  /** Pages share rows, as in the scheduled reconciling walk. */
  readonly overlap: boolean;
  /** The list is walked from its head, although a look at its changes was interrupted. */
  readonly anew?: true;
  /** Version of the record whose detail is fetched, or of the account whose insight is, ms since the epoch. */
  readonly version?: number | null;
  /** Records before this are not wanted, ms since the epoch. */
  readonly since?: number;
}

/** Order of the rows that a page is asked for in: the walk's order, by change date, filtered by change date, or a span of time. */
export type ListOrder =
  | { readonly kind: "walk" }
  | { readonly kind: "changes" }
  /** `after`: ms since the epoch; `exact`: the service's count is compared with the mirror's. */
  | { readonly kind: "filter"; readonly after: number; readonly exact: boolean }
  | { readonly kind: "span" /** ms since the epoch */; readonly from: number; readonly to: number };
