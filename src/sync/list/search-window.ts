// Recognizes a search window: walks of a list end at the same row again and again, without agreeing with the service's count, because the
// service returns no row behind it, or its count varies. Says when another walk may be worth its credits, so that not every sync pays for
// one. Pure.
import type { Coverage } from "./coverage/coverage.ts";
import type { ListForm } from "./form.ts";
import { type Live, progressOf } from "./state.ts";
import { coverageOf } from "./ways/progress.ts";

const DAY_MS = 86_400_000;
/** Most days between two walks that end at the same row. */
const MOST_DAYS = 32;
/** Walks that end at the same row before a count that varies is no sign of a change. */
const SURE = 2;

type Window = ListForm["window"];

/** How a walk ended; `cutOff`: it adds up, but the service still returns rows by their ids that it lacks. */
export type WalkEnd = "settled" | "unconfirmed" | "cutOff";

interface Times {
  readonly now: number;
  /** When the run began. */
  readonly startedAt: number;
}

/** The row that a walk without an agreeing count ended at, if the list ends there; null: it moved on, and may end elsewhere. */
const endOf = ({ endsEarly, moved, total, end }: Coverage, held: number): number | null => {
  if (endsEarly || moved) return end;
  // Pages of a list that did not move, and of which rows are lacking, hold the same rows again and again.
  return total !== null && held < total ? held : null;
};

/** What a walk shows: null, or the row it ended at. `held`: mirrored rows. */
const windowOf = (
  before: Window,
  { coverage, held }: { readonly coverage: Coverage; readonly held: number },
  end: WalkEnd,
  { now, startedAt }: Times,
): Window => {
  const { endsEarly, moved, total, fall } = coverage;
  const rows = end === "cutOff" ? coverage.end : endOf(coverage, held);
  if (end === "settled" || rows === null) return null;
  const same = before?.rows === rows ? before : null;
  const isLater = same !== null && same.notBefore < startedAt;
  const walks = same === null ? 1 : same.walks + (isLater ? 1 : 0);
  // A count that varies may agree at the end of each walk, and yet have fallen between two of its pages.
  const differs = Math.max(fall, total === null ? 0 : Math.abs(total - rows));
  // Rows that come while a list is read move its count, too: one such walk proves nothing.
  const isPaused = end === "cutOff" || (endsEarly && !moved) || walks >= SURE;
  return {
    ...{ rows, walks, spread: Math.max(same?.spread ?? 0, differs) },
    notBefore: isPaused ? now + Math.min(MOST_DAYS, 2 ** (walks - 1)) * DAY_MS : now,
  };
};

/**
 * What is known of the list's end after a walk: null, or the row it ended at, and when a walk is worth its pages again. Walks
 * of one run count once: rows that come and go meanwhile move the ends of both.
 */
export const windowAfter = (before: Window, list: Live, end: WalkEnd, { now, startedAt }: Times): Window => {
  const progress = progressOf(list);
  const coverage = progress === null ? null : coverageOf(progress);
  if (list.kind === "closing" && before !== null) {
    // A count that varies agrees now and then; that settles this walk, and says nothing of the next.
    if (end === "settled") return before.walks < SURE ? null : before;
    return { ...before, spread: Math.max(before.spread, Math.abs((coverage?.total ?? list.rows) - list.rows)) };
  }
  if (progress?.kind !== "walk") return before;
  return coverage === null ? null : windowOf(before, { coverage, held: list.rows }, end, { now, startedAt });
};

/** True while a walk of the list would be paid for in vain. A clock that was ahead holds nothing up longer than the longest wait. */
export const endsAtWindow = (window: Window, now: number): window is NonNullable<Window> =>
  window !== null && now < window.notBefore && window.notBefore - now <= MOST_DAYS * DAY_MS;

/**
 * True when another walk would end at the same row: the count is that of before (`isSteady`), or walks ended there again and again
 * and it is no farther from the rows than twice what it was then. A count below that row is no window's: rows went, or it varies.
 */
export const endsThereAgain = (
  { walks, spread, rows: end }: NonNullable<Window>,
  { total, rows, isSteady }: { readonly total: number; readonly rows: number; readonly isSteady: boolean },
): boolean => (isSteady && total >= end) || (walks >= SURE && Math.abs(total - rows) <= 2 * spread);
