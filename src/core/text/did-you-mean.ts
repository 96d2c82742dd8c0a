// Did-you-mean: suggests the known name closest to a mistyped one.

/** Number of edits (insert, delete, replace, swap of neighbours) from `a` to `b`. */
const distance = (a: string, b: string): number => {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(replace, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
};

/** Without case, hyphens and underscores, which people confuse most. */
const plain = (name: string) => name.toLowerCase().replace(/[-_\s]/g, "");

/** The closest of `known`; null when none is close (at most a third of the letters may be wrong, or one of a short name). */
export const closest = (name: string, known: readonly string[]): string | null => {
  let best: string | null = null;
  let bestEdits = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const edits = distance(plain(name), plain(candidate));
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return bestEdits <= Math.max(1, Math.floor(plain(name).length / 3)) ? best : null;
};

/** ` Did you mean x?` or nothing, for the end of a sentence. */
export const didYouMean = (name: string, known: readonly string[]): string => {
  const guess = closest(name, known);
  return guess === null ? "" : ` Did you mean ${guess}?`;
};
