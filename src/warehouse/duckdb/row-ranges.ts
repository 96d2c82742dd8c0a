// Ranges of row ids that cover the rows of a large table, so that a scan reads only these. Pure.

/** Rows farther apart than this are read by separate scans. */
const RANGE_GAP = 50_000n;

interface RowRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Ranges that cover `sorted`, split at large gaps. */
export const rangesOf = (sorted: readonly bigint[]): readonly RowRange[] => {
  const ranges: { from: bigint; to: bigint }[] = [];
  for (const row of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && row - last.to <= RANGE_GAP) last.to = row;
    else ranges.push({ from: row, to: row });
  }
  return ranges;
};
