// Learns from the service's figures whether unused credits roll over into the next period at a reset, how many credits a period
// grants, and how long it is. Pure.
// Source: API.md, "Limits": unused credits roll over for up to three billing cycles. Not shown: in which order they are
// used, and whether `limit` counts those that came over.
import type { Quota } from "../../api/outcome.ts";
import { periodOf, remainingIn } from "./ledger.ts";

/** Readings of one period. */
export interface PeriodReadings {
  readonly first: Quota;
  readonly last: Quota;
  /** Times of these readings, ms since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface RollOver {
  /** `seen`: unused credits came over. `absent`: credits were left and did not. `unknown`: no reset has shown it. */
  readonly shown: "seen" | "absent" | "unknown";
  /** Credits that a period grants, without those that came over; null: not known. */
  readonly grant: number | null;
  /** Length of a period, ms; null: not known. */
  readonly periodMs: number | null;
}

export const UNKNOWN_ROLL_OVER: RollOver = { shown: "unknown", grant: null, periodMs: null };

/** After a reset that no reading shows, two periods look like one: none is longer than a month (API.md, "Limits"). */
const LONGEST_PERIOD_MS = 31 * 86_400_000;

/** Readings with the same end of the period, joined. */
const joined = (readings: readonly PeriodReadings[]): readonly PeriodReadings[] => {
  const periods: PeriodReadings[] = [];
  for (const reading of readings.toSorted((a, b) => a.firstAt - b.firstAt)) {
    const before = periods.at(-1);
    if (before === undefined || periodOf(before.last, reading.last.resetsAt) !== "same") periods.push(reading);
    else periods[periods.length - 1] = { ...before, last: reading.last, lastAt: reading.lastAt };
  }
  return periods;
};

/** Reads one reset; null: it shows nothing. */
const shownBy = (before: PeriodReadings, after: PeriodReadings): RollOver | null => {
  const [endsAt, nextEnd] = [before.last.resetsAt, after.first.resetsAt];
  const left = remainingIn(before.last);
  const now = remainingIn(after.first);
  const { limit, used } = after.first;
  const usual = before.last.limit;
  // A period whose end moves along with the time of the reading has no reset.
  if (endsAt === null || nextEnd === null || after.firstAt < endsAt || before.lastAt >= endsAt) return null;
  if (left === null || left === 0 || now === null || limit === null || usual === null || used === null) return null;
  const periodMs = Math.min(nextEnd - endsAt, LONGEST_PERIOD_MS);
  const supply = now + used;
  const cameOver = (carried: number): RollOver | null =>
    carried > 0 && carried <= left ? { shown: "seen", grant: supply - carried, periodMs } : null;
  if (supply > limit) return cameOver(supply - limit);
  // `limit` counts what came over: all of it, unless something lapsed.
  if (limit > usual) return supply - usual <= left ? cameOver(Math.min(left, supply - 1)) : null;
  return limit === usual && supply === limit ? { shown: "absent", grant: limit, periodMs } : null;
};

/** Reads the latest reset that shows anything. `readings`: of any number of periods, in any order. */
export const rollOverOf = (readings: readonly PeriodReadings[]): RollOver => {
  const periods = joined(readings);
  for (let at = periods.length - 1; at > 0; at--) {
    const [before, after] = [periods[at - 1], periods[at]];
    const shown = before === undefined || after === undefined ? null : shownBy(before, after);
    if (shown !== null) return shown;
  }
  return UNKNOWN_ROLL_OVER;
};
