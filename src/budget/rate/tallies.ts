// Counts sent requests in short spans of time, to know how many the service's present rate-limit window may hold. Pure.

/** Number of requests that count from time `from` (ms since the epoch), for the length of a window. */
export interface Tally {
  readonly from: number;
  readonly count: number;
}

/** Tallies per window: rounding the times of requests to a tally costs less than 1% of the rate. */
const TALLIES_PER_WINDOW = 120;

/** Length of a tally's span, ms. */
export const tallySpan = (windowMs: number): number => windowMs / TALLIES_PER_WINDOW;

/** `from` of the tally of a request at `at`: the end of its span, so that the request never counts for less than a window. */
const tallyOf = (at: number, windowMs: number): number => {
  const span = tallySpan(windowMs);
  return Math.ceil(at / span) * span;
};

/** Number of requests that count at `now`. */
export const countWithin = (tallies: readonly Tally[], windowMs: number, now: number): number =>
  tallies.reduce((sum, { from, count }) => sum + (from > now - windowMs ? count : 0), 0);

/** Number of requests that started to count after `since` and until `until`. */
export const countBetween = (tallies: readonly Tally[], since: number, until: number): number =>
  tallies.reduce((sum, { from, count }) => sum + (from > since && from <= until ? count : 0), 0);

/** Adds a request at `at`, and drops tallies older than `keepMs` before `now`. */
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

/** Moves a request counted at `at` to `lateMs` later, because it may have arrived then. */
export const moveOne = (
  tallies: readonly Tally[],
  at: number,
  lateMs: number,
  windowMs: number,
  keepMs: number,
  now: number,
): readonly Tally[] => {
  const to = tallyOf(at + lateMs, windowMs);
  // The request was counted when its turn came, a moment before it was sent.
  const index = tallies.findLastIndex(({ from, count }) => from <= tallyOf(at, windowMs) && count > 0);
  const found = tallies[index];
  if (found === undefined || found.from >= to) return tallies;
  const without =
    found.count > 1 ? tallies.with(index, { from: found.from, count: found.count - 1 }) : tallies.toSpliced(index, 1);
  return countOne(without, to, windowMs, keepMs, now);
};

/** Earliest time at which fewer than `most` requests count, ms since the epoch; -Infinity: already so. */
export const roomAt = (tallies: readonly Tally[], windowMs: number, most: number): number => {
  let count = 0;
  const first = tallies.findLastIndex((tally) => {
    count += tally.count;
    return count >= most;
  });
  const full = tallies[first];
  return full === undefined ? -Infinity : full.from + windowMs;
};
