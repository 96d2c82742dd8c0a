// Counts of mirrored rows per day of a date field, and how many of them the service's date filter `before` should return. counting.ts
// compares these with the service's counts. Parts of a list begin and end at midnight UTC, because API.md shows filters by date only. Pure.

export const DAY_MS = 86_400_000;

/** Rows of one day that the mirror holds. */
export interface Day {
  /** Midnight UTC, ms since the epoch. */
  readonly day: number;
  readonly rows: number;
  /** Those of them that are dated exactly at midnight. */
  readonly atMidnight: number;
}

/** What the mirror holds of the list now. */
export interface RowsPerDay {
  readonly rows: number;
  /** Rows per day of the field, in ascending order; the rest of `rows` has no date. */
  readonly days: readonly Day[];
  readonly pageSize: number;
}

/** Rows that the service returns `before` a day: earlier ones, those at its midnight too, or those of the whole day too. */
export const CUTS = ["exclusive", "inclusive", "whole-day"] as const;
export type Cut = (typeof CUTS)[number];

/** Where the filter cuts for a day: ms since the epoch, and whether rows of exactly that time are returned. */
export const boundOf = (cut: Cut, day: number): { readonly at: number; readonly inclusive: boolean } => ({
  at: cut === "whole-day" ? day + DAY_MS : day,
  inclusive: cut === "inclusive",
});

/** True when a row of this time is returned `before` the day. */
export const isBefore = (cut: Cut, day: number, time: number): boolean => {
  const { at, inclusive } = boundOf(cut, day);
  return time < at || (inclusive && time === at);
};

/** Mirrored rows before a day. `days` in ascending order. */
export const rowsBefore = (days: readonly Day[], cut: Cut, day: number): number => {
  let rows = 0;
  for (const each of days) {
    if (each.day > day) break;
    if (each.day < day) rows += each.rows;
    else if (cut !== "exclusive") rows += cut === "inclusive" ? each.atMidnight : each.rows;
  }
  return rows;
};

/** Part of a list: rows before `to` and not before `from`; null: no bound. */
export interface Part {
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * The day that halves the rows between two boundaries best; null: none leaves rows on both sides. `least`, `most`: mirrored
 * rows before the boundaries.
 */
export const middleDay = (days: readonly Day[], cut: Cut, least: number, most: number): number | null => {
  let best: { readonly day: number; readonly off: number } | null = null;
  let earlier = 0;
  for (const { day, rows, atMidnight } of days) {
    const within = { exclusive: 0, inclusive: atMidnight, "whole-day": rows }[cut];
    const before = earlier + within;
    earlier += rows;
    if (before <= least || before >= most) continue;
    const off = Math.abs(before - (least + most) / 2);
    if (best === null || off < best.off) best = { day, off };
  }
  return best?.day ?? null;
};
