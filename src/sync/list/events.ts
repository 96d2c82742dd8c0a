// Types of the state machine of a list (next.ts): the events that happen to a list while a run reads it (`ListEvent`), and what the next
// state asks the run to do (`Effect`). SPEC.md has the table.
import type { DuckmirrorError } from "../../core/errors.ts";
import type { LoadCounts, Unconfirmed } from "../../warehouse/record/checkpoint.ts";
import type { PageRead, ReadRequest } from "./coverage/read-types.ts";
import type { ListForm } from "./form.ts";
import type { Counted, RefusedRow } from "./state.ts";

/** The run, its time in ms since the epoch, and the form of the list, with which a reading begins. */
export interface Beginning {
  readonly runId: string;
  readonly now: number;
  readonly shape: ListForm;
}

/** What `go-on` needs to know beside the state. */
export interface Facts extends Counted, Beginning {
  /** Most pages under way. */
  readonly room: number;
  /** Mirrored rows inside the setting `scope`, of a list that is read with its filters; null: as counted so far. */
  readonly rows: number | null;
}

export type ListEvent =
  /** The request left; null: the single request of a record. */
  | { readonly kind: "sent"; readonly read: ReadRequest | null }
  /** It was not sent after all. */
  | { readonly kind: "unsent"; readonly read: ReadRequest | null }
  | { readonly kind: "page"; readonly read: PageRead; readonly receivedAt: number }
  /** A page came that is asked for again in another form. Its rows count. */
  | { readonly kind: "repeated"; readonly read: ReadRequest }
  /** The rows of a page are durable. `counts` null: it had none. */
  | { readonly kind: "loaded"; readonly counts: LoadCounts | null; readonly repeated: boolean }
  /** The answer, if any, is of no use. */
  | { readonly kind: "lost"; readonly read: ReadRequest }
  /** The record came, in this version; null: it has none. */
  | { readonly kind: "record"; readonly version: number | null }
  /** The service refused the form of a request; `later`: of a page whose form it had accepted for the first one. */
  | { readonly kind: "refused-form"; readonly shape: ListForm; readonly remembers: boolean; readonly later: boolean }
  /** The list is asked for in another form. */
  | { readonly kind: "form"; readonly shape: ListForm }
  /** The same in smaller pages at most, or in pages of exactly this size. */
  | { readonly kind: "pages-of"; readonly size: number; readonly exactly: boolean }
  /** A page was refused in every form, or cannot be used now. */
  | { readonly kind: "page-refused"; readonly at: RefusedRow; readonly shape: ListForm }
  /** The next page of a resumed reading cannot be had: its changes are read, or it is read from its head. */
  | ({ readonly kind: "left"; readonly at: RefusedRow } & Beginning)
  /** Rows came along with other records, or were deleted. */
  | { readonly kind: "rows"; readonly by: number }
  | { readonly kind: "go-on"; readonly facts: Facts }
  /** The counts still differ after what is gone was looked for: the list is walked. */
  | ({ readonly kind: "walk"; readonly because: string } & Beginning)
  /** A walk did not add up, but only its count may be outdated: the changes since its start are read. */
  | { readonly kind: "read-changes"; readonly shape: ListForm }
  /** The record, or the company of the list, is gone. */
  | { readonly kind: "absent" }
  | { readonly kind: "believed-no-more" }
  /** The list was counted anew, while what is gone was looked for. */
  | { readonly kind: "counted"; readonly total: number }
  | { readonly kind: "failed"; readonly error: DuckmirrorError; readonly resumable: boolean }
  | { readonly kind: "finished" };

/** How a reading ended. */
export interface Verdict {
  /** The reading came to the end of the list, or gave it up. */
  readonly whole: boolean;
  readonly addsUp: boolean;
  /** For a whole list that does not add up: the rows that could not be confirmed. */
  readonly unconfirmed?: Unconfirmed | null;
}

export type Effect =
  | { readonly kind: "note"; readonly text: string }
  /** Counts another way of reading for the report. */
  | { readonly kind: "mode"; readonly mode: string }
  /** The service does not sort, or filter, this list by its change date. */
  | { readonly kind: "remember"; readonly lack: Partial<Pick<ListForm, "changeOrder" | "changeFilter">> }
  /** Stores the content with which every row was read. */
  | { readonly kind: "content"; readonly whole: boolean }
  /** The rows of the list count for the share that may be deleted. */
  | { readonly kind: "compared" }
  /** Finds what is gone after changes, whose counts differ; then `go-on` or `walk`. */
  | { readonly kind: "find-gone"; readonly because: string }
  /** Deletes what a walk that adds up did not return, behind the guards. */
  | { readonly kind: "delete" }
  /** Asks for suspects of a walk that does not add up; then the end, or `read-changes`. */
  | { readonly kind: "close-gap" }
  /** Ends the changes read after such a walk. */
  | { readonly kind: "end-closing"; readonly agrees: boolean }
  | { readonly kind: "end"; readonly verdict: Verdict }
  /** Ends a reading that concludes nothing. */
  | { readonly kind: "close" }
  /** `total`: the present count of the list, for a list that is too deep. */
  | { readonly kind: "fail"; readonly error: DuckmirrorError; readonly resumable: boolean }
  /** The next step is to be decided. */
  | { readonly kind: "go-on" };

export interface Transition<S> {
  readonly state: S;
  readonly effects: readonly Effect[];
}
