// Limits lines of the audit trail that are alike, so that nobody fills the disk: of refused requests, and of the same reads by
// the same key. The next line has the number of those without one. Pure but for its own counts.

const MINUTE_MS = 60_000;
/** Kinds whose counts are kept; the oldest is written and forgotten first. */
const MOST_KINDS = 1_000;

interface Count {
  readonly since: number;
  readonly lines: number;
  readonly unwritten: number;
}
const NONE: Count = { since: 0, lines: 0, unwritten: 0 };

export interface LineCounts<T> {
  /** Counts one request of a kind, which has at most `most` lines in a minute. null: it gets no line; else the number of those before it that got none. */
  next(kind: { readonly name: string; readonly most: number }, now: number, last: T): number | null;
  /** The last request of every kind that has some without a line, and their number. */
  left(): readonly { readonly last: T; readonly unwritten: number }[];
}

export const createLineCounts = <T>(): LineCounts<T> => {
  const counts = new Map<string, Count & { readonly last: T }>();
  return {
    next: ({ name, most }, now, last) => {
      const { since, lines, unwritten } = counts.get(name) ?? NONE;
      counts.delete(name);
      const isNew = now - since >= MINUTE_MS;
      const writes = isNew || lines < most;
      if (isNew) counts.set(name, { since: now, lines: 1, unwritten: 0, last });
      else if (writes) counts.set(name, { since, lines: lines + 1, unwritten: 0, last });
      else counts.set(name, { since, lines, unwritten: unwritten + 1, last });
      for (const [oldest, { unwritten: open }] of counts) {
        if (counts.size <= MOST_KINDS) break;
        if (open === 0) counts.delete(oldest);
      }
      return writes ? unwritten : null;
    },
    left: () => [...counts.values()].flatMap(({ last, unwritten }) => (unwritten === 0 ? [] : [{ last, unwritten }])),
  };
};
