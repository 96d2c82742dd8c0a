// A list that ends before its count, as at a search window: a walk would end there again. Pure.
import type { ListShape } from "./form.ts";
import { type Live, progressOf } from "./state.ts";
import { coverageOf } from "./ways/progress.ts";

const DAY_MS = 86_400_000;
/** Most days between two walks that end at the same row. */
const MOST_DAYS = 32;

type Window = ListShape["window"];

/** What is known of the list's end after a walk: null, or the row it ended at, and when a walk is worth its pages again. */
export const windowAfter = (before: Window, list: Live, unconfirmed: boolean, now: number): Window => {
  if (!unconfirmed && list.kind === "closing") return null;
  const progress = progressOf(list);
  if (progress?.kind !== "walk") return before;
  const coverage = coverageOf(progress);
  if (coverage === null || !coverage.endsEarly || !unconfirmed) return null;
  const rows = coverage.end;
  const walks = before?.rows === rows ? before.walks + 1 : 1;
  return { rows, walks, notBefore: now + Math.min(MOST_DAYS, 2 ** (walks - 1)) * DAY_MS };
};

/** True while a walk of the list would be paid for in vain. A clock that was ahead holds nothing up longer than the longest wait. */
export const endsAtWindow = (window: Window, now: number): window is NonNullable<Window> =>
  window !== null && now < window.notBefore && window.notBefore - now <= MOST_DAYS * DAY_MS;
