// Makes the rows of `sync.stream_state` from the state of a list: while it is read (with its cursor), and after it ended (complete,
// unconfirmed or failed). Pure; the committer writes them.
import type { StreamName } from "../../catalog/streams.ts";
import { counted } from "../../core/text/units.ts";
import type { ScopeState, Unconfirmed } from "../../warehouse/record/checkpoint.ts";
import type { Verdict } from "./events.ts";
import {
  acceptedGap,
  type Detour,
  type ListState,
  type Live,
  liveOf,
  MOST_AHEAD_MS,
  progressOf,
  type Reading,
  readingOf,
  unreadIn,
} from "./state.ts";
import { type Cursor, coverageOf } from "./ways/progress.ts";

/** Latest `totalCount` of the whole list, for ways that read the whole list. */
export const totalOf = (list: Live): number | null => {
  const progress = progressOf(list);
  if (progress === null || progress.kind === "filter") return list.before?.totalCount ?? null;
  return progress.kind === "log" ? progress.total : (coverageOf(progress)?.total ?? null);
};

/** State of a scope that was never read. */
export const unreadState = (stream: StreamName, scope: string, runId: string): ScopeState => ({
  stream,
  scope,
  status: "idle",
  walkId: null,
  cursor: null,
  watermark: null,
  totalCount: null,
  rowsAtWalk: null,
  checkedAt: null,
  walkedAt: null,
  unconfirmed: null,
  error: null,
  runId,
});

/** The row of a list whose reading cannot go on. Once every change up to the newest was read, it is the next watermark. */
const leftState = ({ before, reading, startedAt }: Detour): ScopeState | null => {
  if (before === undefined) return null;
  const { progress, newest } = reading;
  const isRead =
    progress.kind === "watermark" &&
    progress.sorted &&
    progress.coverage.proven &&
    (progress.reachedKnown || progress.coverage.complete);
  const isLater = isRead && newest !== null && newest > (before.watermark ?? startedAt);
  return isLater ? { ...before, watermark: newest } : before;
};

const cursorOf = (startedAt: number, reading: Reading): string => {
  const { progress, readAt, newest, firstNewest, firstMirror, rejected, misfits, forgotten, content } = reading;
  const cursor: Cursor = {
    ...{ progress, startedAt, readAt, newest, firstNewest, firstMirror, rejected, misfits, content },
    forgotten: [...forgotten],
  };
  return JSON.stringify(cursor);
};

const ownState = (list: Live, runId: string): ScopeState => {
  const reading = readingOf(list);
  const { before, walkId, startedAt, order } = list;
  const cursor = reading === null ? null : cursorOf(startedAt, reading);
  const known = before ?? unreadState(order.stream, order.scope, runId);
  return { ...known, status: "walking", walkId, cursor, error: null, runId };
};

/** The list's row of `sync.stream_state` while it is read. Of a reading that cannot go on, the cursor stays. */
export const walkingState = (state: ListState, runId: string): ScopeState => {
  const list = liveOf(state);
  const row = (list.kind === "detour" ? leftState(list) : null) ?? ownState(list, runId);
  return state.kind === "failed" ? { ...row, error: state.code } : row;
};

/** How a reading ended, and when. */
export interface Outcome extends Verdict {
  readonly now: number;
  readonly runId: string;
}

/**
 * True when a list whose rows seemed to be gone, so that its walk failed and deleted nothing, is whole again: its last complete
 * walk added up (`rowsAtWalk`), and the service counts as many rows as the mirror holds.
 */
const isBack = (list: Live): boolean =>
  progressOf(list)?.kind === "watermark" &&
  list.before?.status === "failed" &&
  list.before.rowsAtWalk !== null &&
  totalOf(list) === list.rows;

/** Records that the service returned and that became no row: the mirror lacks them, or holds an earlier version; null: none. */
export const rejected = (rows: number): Unconfirmed | null =>
  rows === 0
    ? null
    : {
        rows,
        because: `the service returned ${counted(rows, "record")} that became no row; sync.rejects has the reason`,
      };

/**
 * Result to store: a read of changes keeps the result of the last complete walk, or one that shows more rejected records; a log
 * has none.
 */
const verdictAfter = (list: Live, { whole, addsUp, unconfirmed = null }: Verdict): Unconfirmed | null => {
  const known = list.before?.unconfirmed ?? null;
  if (progressOf(list)?.kind === "log") return addsUp ? null : known;
  const lost = rejected(unreadIn(list));
  const isBackNow = isBack(list);
  if (!addsUp && !whole && !isBackNow) return (lost?.rows ?? 0) > (known?.rows ?? 0) ? lost : known;
  if (addsUp || isBackNow || unconfirmed === null) return lost;
  return lost === null ? unconfirmed : { ...unconfirmed, because: `${unconfirmed.because}; ${lost.because}` };
};

type EarlyEnd = "none" | "new" | "confirmed";

/**
 * Whether a walk of the whole list, which did not move, ended without proof, or before the service's count. `confirmed`: as far
 * from its count as the last walk did, so another one would end there again. After one walk, rows may be missing that the service
 * is only about to return.
 */
const earlyEnd = (list: Live, { whole }: Verdict): EarlyEnd => {
  const { before, rows } = list;
  const progress = progressOf(list);
  const coverage = progress?.kind === "walk" || progress?.kind === "known" ? progress.coverage : null;
  if (!whole || coverage === null || (coverage.moved && !coverage.endsEarly) || coverage.total === null) return "none";
  return before?.unconfirmed != null && coverage.total - rows === acceptedGap(before) ? "confirmed" : "new";
};

/** Version of a record that was read. */
const versionOf = (list: Live): number | null => (list.kind === "single" ? list.newest : null);

/** When the list was last read completely. A list whose reading of changes misses rows is walked again after a new gap. */
const walkedAtOf = ({ before, stream }: Live, gap: EarlyEnd): number | null =>
  gap === "new" && stream.strategy !== "watermark" ? null : (before?.walkedAt ?? null);

/** The watermark never goes back, unless it is too far ahead: a complete walk has read every change before its own. */
const watermarkOf = (list: Live, reached: number | null, { addsUp }: Verdict): number | null => {
  const known = list.before?.watermark ?? null;
  if (reached === null || known === null) return reached ?? known;
  const isAhead = known > list.startedAt + MOST_AHEAD_MS;
  return isAhead && addsUp && progressOf(list)?.kind === "walk" ? reached : Math.max(reached, known);
};

/** The watermark after the reading: of a record its version, even if the service sets it back, so that an older one is not skipped. */
const nextWatermark = (list: Live, outcome: Outcome): number | null => {
  const reading = readingOf(list);
  if (reading === null) return versionOf(list);
  // Changes made during the walk are newer than its start; the watermark must not pass them.
  const bound = Math.max(list.startedAt, reading.firstNewest ?? 0);
  return watermarkOf(list, reading.newest === null ? null : Math.min(reading.newest, bound), outcome);
};

/** Mirrored rows with which the service's count agreed, or will; null: nothing is known of that. */
const rowsAtWalkOf = (list: Live, { addsUp, whole }: Outcome, walked: boolean, early: EarlyEnd): number | null => {
  const { before, rows } = list;
  const progress = progressOf(list);
  // In an unchanged list, a different count is the service's own; in a changing list it means nothing.
  const isUnchanged =
    whole && progress !== null && progress.kind !== "watermark" && coverageOf(progress)?.moved === false;
  if (addsUp || isUnchanged || early === "confirmed") return rows;
  if (walked) return null;
  // An incremental read ends when the counts agree, that is, when the accepted gap has not changed.
  const [gap, total] = [acceptedGap(before), totalOf(list)];
  return gap === null || total === null ? (before?.rowsAtWalk ?? null) : total - gap;
};

/** The list's row of `sync.stream_state` after it was read. */
export const finishedState = (list: Live, outcome: Outcome): ScopeState => {
  const { before } = list;
  const { addsUp, whole, now, runId } = outcome;
  const progress = progressOf(list);
  const early = earlyEnd(list, outcome);
  const isProven = progress === null || (coverageOf(progress)?.proven ?? true);
  const walked = addsUp || (whole && isProven) || early === "confirmed";
  return {
    ...walkingState(list, runId),
    status: "idle",
    // The keys of an unconfirmed walk are kept: the next walk requests by id the rows that both missed.
    walkId: addsUp || whole || before?.status !== "idle" ? null : before.walkId,
    cursor: null,
    watermark: nextWatermark(list, outcome),
    totalCount: totalOf(list),
    rowsAtWalk: rowsAtWalkOf(list, outcome, walked, early),
    checkedAt: now,
    walkedAt: walked ? now : walkedAtOf(list, early),
    unconfirmed: verdictAfter(list, outcome),
  };
};
