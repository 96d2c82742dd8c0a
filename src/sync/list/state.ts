// The state of a list, or a record, that a run reads: a union, each state with its own fields. Immutable: next.ts makes the
// next one from it and an event. src/sync/list/SPEC.md has the table.
import { type StreamName, type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import type { DuckmirrorError, ErrorCode } from "../../core/errors.ts";
import type { ScopeState, Work } from "../../warehouse/record/checkpoint.ts";
import type { MirrorFacts, ReadRequest, Step } from "./coverage/read-types.ts";
import { type ListForm, proofOf } from "./form.ts";
import { startWatermark } from "./ways/changes.ts";
import { startFilter } from "./ways/filter.ts";
import { startLog } from "./ways/log.ts";
import { type Cursor, nextStep, type Progress, reopened, resumedCursor, storedCursor } from "./ways/progress.ts";
import { startKnown, startWalk } from "./ways/walk.ts";

/** Pages this old are not believed to show the list as it is: a run that resumes them asks at least once. */
const BELIEVED_MS = 600_000;
/** Time after its start up to which a reading asks for entries of a log, ms. */
const SPAN_AHEAD_MS = 86_400_000;

// What a plan orders to be read: one list, or one record, and in which way.

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

// Where a reading begins: at the head of the list, and for changes, some time before the watermark.

/**
 * Distance behind the watermark from which changes are read again: clocks differ, and some fields hold only a date.
 */
const WATERMARK_OVERLAP_MS = { updatedAt: 3_600_000, other: 2 * 86_400_000 };

/**
 * Clocks and zones differ by less. A value further ahead is no time of a change: as the watermark, one record dated in 2099
 * would hide every change of the others.
 */
export const MOST_AHEAD_MS = 86_400_000;

export const overlapMs = (stream: StreamSpec) =>
  stream.watermark === "updatedAt" ? WATERMARK_OVERLAP_MS.updatedAt : WATERMARK_OVERLAP_MS.other;

/**
 * Pages share rows in reconciling walks and in every walk that may delete, also where growing ids join them. If an
 * insert and a delete balance, the count stays the same, and only a shared row proves that no row was skipped.
 */
export const overlaps = (order: Pick<ReadingOrder, "overlap">, rows: number): boolean => order.overlap || rows > 0;

export const startProgress = (
  order: ReadingOrder,
  stream: StreamSpec,
  shape: ListForm,
  before: ScopeState | undefined,
  overlap: boolean,
): Progress | null => {
  const size = shape.perPage;
  const since = before?.watermark === undefined || before.watermark === null ? 0 : before.watermark - overlapMs(stream);
  switch (order.mode) {
    case "walk":
      return startWalk({ size, overlap, proof: proofOf(stream, shape) });
    case "watermark":
      return startWatermark({ size, since });
    case "filter":
      return order.since === undefined
        ? startFilter({ size, since, counted: (before?.totalCount ?? null) !== null })
        : startFilter({ size, since: order.since, only: true });
    case "known":
      return startKnown({ size });
    case "log":
      return startLog({ size, first: (before?.checkedAt ?? null) === null, since: order.since });
    default:
      return null;
  }
};

/** What every state knows. */
interface Common {
  readonly order: ReadingOrder;
  readonly stream: StreamSpec;
  /** State of the list before this reading; undefined: it was never read. */
  readonly before: ScopeState | undefined;
  readonly walkId: string;
  /** Start of this reading by our clock, ms since the epoch. */
  readonly startedAt: number;
  /** Mirrored rows of the list. */
  readonly rows: number;
  /** Heavy fields requested now. */
  readonly wantedContent: readonly string[];
}

/** What one way of reading has returned so far. */
export interface Reading {
  readonly progress: Progress;
  /** When the latest page was received, by our clock; 0: never, or not to be believed. */
  readonly readAt: number;
  /** When the first one was; 0: never. */
  readonly firstReadAt: number;
  /** Newest value of the ordering field, in all pages and in the first page. */
  readonly newest: number | null;
  readonly firstNewest: number | null;
  /** The list had no row when the reading began, so every row in it was read by this reading. */
  readonly firstMirror: boolean;
  readonly rejected: number;
  /** Records that a strict table did not take; their keys count as seen. */
  readonly misfits: number;
  /** Records of erased people in the list: the service counts them, the mirror does not hold them. */
  readonly forgotten: ReadonlySet<string>;
  /** Heavy fields requested on every page so far. */
  readonly content: readonly string[];
  /** Pages received; a resumed reading starts with 2. */
  readonly pages: number;
  /** Distinct ids of the first page while it is the only one. */
  readonly onlyPage: ReadonlySet<string>;
}

/** Pages that the reading wants. */
interface Requests {
  /** Sent or not, without an answer. */
  readonly wanted: readonly ReadRequest[];
  /** Those of them that are not sent yet, most urgent first. */
  readonly unsent: readonly ReadRequest[];
  /** Received pages whose rows are not committed yet; until then, counts of the list are incomplete. */
  readonly uncommitted: number;
}

/** What refusals have shown. */
interface Negotiation {
  /** The form at the first refusal of a later page, or of a list that was returned before; null: none was. */
  readonly accepted: ListForm | null;
  /** Refusals of later pages, whose form the service accepted for the first page. */
  readonly later: number;
}

/** A page that the service refused in every form, or that cannot be used now: its first row, from 0, and the failure. */
export interface RefusedRow {
  readonly row: number;
  readonly error: DuckmirrorError;
}

interface Paged extends Common {
  readonly reading: Reading;
  readonly requests: Requests;
  readonly negotiation: Negotiation;
  /** Counts of the last committed page. */
  readonly last: MirrorFacts["last"];
  /** Rows that a page brought which is asked for again with its fields named. */
  readonly firstForm: { readonly inserted: number; readonly updated: number };
}

/** One request suffices: captures, profiles, insights, details. */
export interface Single extends Common {
  readonly kind: "single";
  /** The request was made and has no final answer yet. */
  readonly asked: boolean;
  /** Version of the record. */
  readonly newest: number | null;
}

export interface ReadingList extends Paged {
  readonly kind: "reading";
  /** No page from this row on is requested; null: none was refused. */
  readonly refused: RefusedRow | null;
}

/** The page that a resumed reading asks for cannot be had now. Its changes, or the list from its head, show whether that page still exists. */
export interface Detour extends Paged {
  readonly kind: "detour";
  readonly left: RefusedRow;
}

/** A walk that does not add up has ended; the changes since its start are read. */
export interface Closing extends Paged {
  readonly kind: "closing";
  /** Records that the walk met and could not read. */
  readonly unread: number;
  /**
   * Mirrored rows when the walk ended, if its pages are only believed while no row comes: they came side by side and share none, so
   * a row that came and one that went may have hidden a third. null: the pages prove themselves.
   */
  readonly still: number | null;
}

/** Rows, or a company, that seem to be gone are proven and moved to history. `reading` null: of a record. */
export interface Deleting extends Common {
  readonly kind: "deleting";
  readonly reading: Reading | null;
}

/** It cannot be read on in this run. Pages that were under way are still added. */
export interface Failed {
  readonly kind: "failed";
  readonly list: Live;
  readonly code: ErrorCode;
  readonly resumable: boolean;
}

export interface Finished {
  readonly kind: "finished";
  readonly list: Live;
}

export type Active = ReadingList | Detour | Closing;
export type Live = Single | Active | Deleting;
export type ListState = Live | Failed | Finished;

/** The state without its end. */
export const liveOf = (state: ListState): Live =>
  state.kind === "failed" || state.kind === "finished" ? state.list : state;

export const isActive = (state: ListState): state is Active =>
  state.kind === "reading" || state.kind === "detour" || state.kind === "closing";

/** What was read; null: of a record. */
export const readingOf = (state: ListState): Reading | null => {
  const live = liveOf(state);
  return live.kind === "single" ? null : live.reading;
};

/** True when a page of the list was read since then, ms since the epoch. */
export const hasGoneOn = (state: ListState, since: number): boolean => (readingOf(state)?.readAt ?? 0) >= since;

export const progressOf = (state: ListState): Progress | null => readingOf(state)?.progress ?? null;

/** Pages that were asked for or are about to be, none for a record. */
export const requestsOf = (state: ListState): Requests => (isActive(state) ? state.requests : NO_REQUESTS);

/** Pages that were sent and have no answer yet. */
export const underWayOf = (state: ListState): number => {
  const { wanted, unsent } = requestsOf(state);
  return wanted.length - unsent.length;
};

export const NO_ROWS = { inserted: 0, updated: 0 };
const NO_REQUESTS: Requests = { wanted: [], unsent: [], uncommitted: 0 };

/** What a reading knows before its first page. */
export const emptyReading = (
  progress: Progress,
  { firstMirror, content }: Pick<Reading, "firstMirror" | "content">,
): Reading => ({
  ...{ progress, firstMirror, content, readAt: 0, firstReadAt: 0, newest: null, firstNewest: null },
  ...{ rejected: 0, misfits: 0, forgotten: new Set(), pages: 0, onlyPage: new Set() },
});

/** The cursor of an interrupted reading, as far as it is believed; null: start anew. */
const resumedFrom = (before: ScopeState | undefined, now: number, sameRun: boolean): Cursor | null => {
  const stored = before?.status === "walking" ? storedCursor(before.cursor) : null;
  if (stored === null) return null;
  // In the same run no time has passed since it was stored.
  const cursor = sameRun ? stored : resumedCursor(stored);
  return now - cursor.readAt <= BELIEVED_MS ? cursor : { ...cursor, progress: reopened(cursor.progress) };
};

export interface Opening {
  readonly order: ReadingOrder;
  readonly before: ScopeState | undefined;
  readonly shape: ListForm;
  readonly rows: number;
  readonly runId: string;
  readonly now: number;
  /** The list is read with filters, so the mirror may hold rows of it that do not count. */
  readonly filtered?: boolean;
  /** Heavy fields to request; unset: the same as before the interruption. */
  readonly content?: readonly string[];
  /** It takes pages of the run that stored its cursor, not of a later one. */
  readonly sameRun?: boolean;
}

/** The first state of a list or record: resumes an interrupted reading, or starts. */
export const openList = (opening: Opening): Single | ReadingList => {
  const { order, before, shape, rows, runId, now, content } = opening;
  const stream = streamSpec(order.stream);
  const cursor = order.anew === true ? null : resumedFrom(before, now, opening.sameRun === true);
  const progress = cursor?.progress ?? startProgress(order, stream, shape, before, overlaps(order, rows));
  const common = {
    ...{ order, stream, before, rows, startedAt: cursor?.startedAt ?? now },
    walkId: cursor !== null && before?.walkId ? before.walkId : `${runId}/${order.stream}/${order.scope}`,
    wantedContent: content ?? cursor?.content ?? [],
  };
  if (progress === null) return { ...common, kind: "single", asked: false, newest: null };
  const firstMirror = cursor?.firstMirror ?? (rows === 0 && opening.filtered !== true);
  const fresh = emptyReading(progress, { firstMirror, content: content ?? [] });
  const { readAt, newest, firstNewest, rejected, misfits } = cursor ?? fresh;
  const resumed = {
    ...{ readAt, newest, firstNewest, rejected, misfits, pages: 2, forgotten: new Set(cursor?.forgotten) },
    content: cursor?.content.filter((name) => content?.includes(name) ?? true) ?? [],
    firstReadAt: common.startedAt,
  };
  return {
    ...{ ...common, kind: "reading", requests: NO_REQUESTS, negotiation: { accepted: null, later: 0 } },
    ...{ last: null, firstForm: NO_ROWS, refused: null },
    reading: cursor === null ? fresh : { ...fresh, ...resumed },
  };
};

/** Number of records that the reading met and that became no row. */
export const unreadIn = (list: Live): number => {
  if (list.kind === "closing") return list.unread;
  const reading = readingOf(list);
  return reading === null ? 0 : reading.rejected + reading.misfits;
};

/** Number of records that the service counts and the mirror cannot hold. */
export const uncountable = (list: Live): number => unreadIn(list) + (readingOf(list)?.forgotten.size ?? 0);

/**
 * Rows that the list has in the mirror if `total` is its count. A record that could not be read may be a mirrored row in another version,
 * or none: as many more rows than certain ones agree with the count.
 */
export const rowsCounted = (list: Live, total: number): number => {
  const least = total - uncountable(list);
  return Math.max(least, Math.min(list.rows, least + unreadIn(list)));
};

/** True for a reading that concludes nothing about its list (`sync --since`), so it stores no state either. */
export const isExcerpt = (state: ListState): boolean => {
  const progress = progressOf(state);
  return progress?.kind === "filter" && progress.only;
};

/** Order in which the list is requested. */
export const orderOf = (state: ListState): ListOrder => {
  const progress = progressOf(state);
  switch (progress?.kind) {
    case "watermark":
      return { kind: "changes" };
    case "filter":
      return progress.counting ? { kind: "walk" } : { kind: "filter", after: progress.since, exact: !progress.only };
    case "log":
      // The end lies ahead, because the service's clock may, and reading adds entries.
      return progress.since === null
        ? { kind: "walk" }
        : { kind: "span", from: progress.since, to: liveOf(state).startedAt + SPAN_AHEAD_MS };
    default:
      return { kind: "walk" };
  }
};

/**
 * The accepted gap of a list (docs/GLOSSARY.md): records that the service counted and the mirror could not hold when the last
 * complete walk ended, below zero if the mirror held more rows; null: no complete walk has shown it.
 */
export const acceptedGap = (state: Pick<ScopeState, "totalCount" | "rowsAtWalk"> | undefined): number | null =>
  state?.totalCount == null || state.rowsAtWalk == null ? null : state.totalCount - state.rowsAtWalk;

/** The difference between count and rows that asks for nothing. The count of a list that cannot be read to its end never agrees. */
const expectedGap = (list: Active): number => {
  const { progress } = list.reading;
  const total = progress.kind === "watermark" ? progress.coverage.total : null;
  if (list.kind === "detour" && total !== null) return total - list.rows;
  if (list.kind === "closing") return total === null ? uncountable(list) : total - rowsCounted(list, total);
  return acceptedGap(list.before) ?? 0;
};

/** What the mirror counts, for the next step. */
export interface Counted {
  /** Distinct ids of this reading, needed once its coverage is complete. */
  readonly seen: number;
  /** Rows that match the filter of the reading; null without one. */
  readonly matching: number | null;
}

/** The next step of the way of reading, and the state that wants its pages. */
export const stepOf = <L extends Active>(
  list: L,
  { seen, matching }: Counted,
  room: number,
): { readonly step: Step; readonly list: L } => {
  const { reading, requests, stream } = list;
  const facts: MirrorFacts = {
    rows: list.rows,
    matching: matching === null ? null : matching + reading.forgotten.size,
    seen,
    rejected: reading.rejected + reading.forgotten.size,
    last: list.last,
    acceptedGap: expectedGap(list),
  };
  const { step, progress } = nextStep(reading.progress, facts, requests.wanted, room, stream.watermark ?? "id");
  const wanted = step.kind === "read" ? [...requests.wanted, ...step.reads] : requests.wanted;
  return { step, list: { ...list, reading: { ...reading, progress }, requests: { ...requests, wanted } } };
};
