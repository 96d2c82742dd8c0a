// The other end of a list whose deep pages the service refuses: what lies behind them is read in ascending order, until both
// parts share a row, or the service refuses a page there as well. Pure. docs/decisions/0189-from-the-other-end.md.
import type { PageRead, ReadRequest } from "../coverage/contract.ts";
import { addRead, type Coverage, emptyCoverage } from "../coverage/coverage.ts";
import { startOf } from "../coverage/page-geometry.ts";

/** The rows that were read from the head. */
export interface FromHead {
  readonly coverage: Coverage;
  /** A page from the other end held one of its last rows. */
  readonly joined: boolean;
}

/** Rows to read from the other end, one of them shared. Less than one: the list became shorter than what was read. */
const rowsLeft = ({ coverage }: FromHead, total: number): number => total - coverage.end + 1;

/** Rows that were read of both parts together. */
export const rowsOfBoth = (fromHead: FromHead | null, { end }: Coverage): number =>
  fromHead === null ? end : fromHead.coverage.end + end;

/** The coverage of the other end, of which nothing is read yet. */
export const emptyOtherEnd = ({ size, fixed, granted }: Coverage): Coverage => ({
  ...emptyCoverage(size, true),
  fixed,
  granted,
});

/** Pages to request: none lies wholly within what was read from the head. */
export const readsFromEnd = (
  fromHead: FromHead,
  { total }: Coverage,
  reads: readonly ReadRequest[],
): readonly ReadRequest[] => {
  if (total === null) return reads;
  const needed = reads.filter(
    (read) => read.role !== "cover" || startOf(read) < Math.max(1, rowsLeft(fromHead, total)),
  );
  // A page that brought nothing new is asked for otherwise.
  return needed.length > 0 || reads.every(({ role }) => role === "cover") ? needed : reads;
};

/**
 * Adds a page in ascending order. When the two parts meet, their coverage is that of the whole list. A page out of order ends the
 * reading: the service does not return the other end.
 */
export const joinEnds = (
  fromHead: FromHead,
  before: Coverage,
  { read, ordered }: { readonly read: PageRead; readonly ordered: boolean },
): { readonly coverage: Coverage; readonly fromHead: FromHead } => {
  const head = fromHead.coverage;
  const after = addRead(before, read, "identity");
  const joined = fromHead.joined || read.ids.some((id) => head.tail.includes(id));
  const meets = after.total !== null && after.end >= rowsLeft(fromHead, after.total);
  const next = { ...fromHead, joined };
  if (ordered && !meets && !after.complete) return { coverage: after, fromHead: next };
  return {
    coverage: {
      ...after,
      waiting: [],
      bridgeAt: null,
      openEnd: false,
      endsEarly: false,
      moved: after.moved || head.moved || after.total !== head.total,
      proven: ordered && joined && after.proven && head.proven,
      complete: true,
    },
    fromHead: next,
  };
};
