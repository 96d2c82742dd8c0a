// Requests counted by the moment from which a window of the service may hold them. Pure.

/** Requests that count for one window from the moment `from` on, ms since the epoch. */
export interface Tally {
  readonly from: number;
  readonly count: number;
}

/** Tallies of one window: fine enough that rounding costs less than 1% of the rate. */
const TALLIES_PER_WINDOW = 120;

export const tallySpan = (windowMs: number): number => windowMs / TALLIES_PER_WINDOW;

/** The end of the tally that `at` falls into: a request never counts for less than its window. */
const tallyOf = (at: number, windowMs: number): number => {
  const span = tallySpan(windowMs);
  return Math.ceil(at / span) * span;
};

/** How many count at `now`. */
export const countWithin = (tallies: readonly Tally[], windowMs: number, now: number): number =>
  tallies.reduce((sum, { from, count }) => sum + (from > now - windowMs ? count : 0), 0);

/** How many counted from after `since` until `until`. */
export const countBetween = (tallies: readonly Tally[], since: number, until: number): number =>
  tallies.reduce((sum, { from, count }) => sum + (from > since && from <= until ? count : 0), 0);

/** One more request at `at`. Tallies older than `keepMs` before `now` go. */
export const countOne = (
  tallies: readonly Tally[],
  at: number,
  windowMs: number,
  keepMs: number,
  now: number,
): readonly Tally[] => {
  const from = tallyOf(at, windowMs);
  const kept = tallies.filter((tally) => tally.from > now - keepMs);
  const before = kept.findLastIndex((tally) => tally.from <= from);
  const there = kept[before];
  if (there?.from === from) return kept.with(before, { from, count: there.count + 1 });
  return kept.toSpliced(before + 1, 0, { from, count: 1 });
};

/** A request counted at `at` may have arrived as late as `lateMs` after that: it counts from then on. */
export const moveOne = (
  tallies: readonly Tally[],
  at: number,
  lateMs: number,
  windowMs: number,
  keepMs: number,
  now: number,
): readonly Tally[] => {
  const to = tallyOf(at + lateMs, windowMs);
  // It was counted when its turn came, a moment before it left.
  const index = tallies.findLastIndex(({ from, count }) => from <= tallyOf(at, windowMs) && count > 0);
  const found = tallies[index];
  if (found === undefined || found.from >= to) return tallies;
  const without =
    found.count > 1 ? tallies.with(index, { from: found.from, count: found.count - 1 }) : tallies.toSpliced(index, 1);
  return countOne(without, to, windowMs, keepMs, now);
};

/** When fewer than `most` count, ms since the epoch; -Infinity: always. */
export const roomAt = (tallies: readonly Tally[], windowMs: number, most: number): number => {
  let count = 0;
  const first = tallies.findLastIndex((tally) => {
    count += tally.count;
    return count >= most;
  });
  const full = tallies[first];
  return full === undefined ? -Infinity : full.from + windowMs;
};
