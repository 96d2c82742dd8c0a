// Limits the lines about refused requests: without a key, nobody can fill the disk. The next line has the number of
// those without one. Pure.

/** Most lines in a minute. */
const MOST_LINES = 60;
const MINUTE_MS = 60_000;

export interface RefusalLines {
  readonly since: number;
  readonly lines: number;
  readonly unwritten: number;
}

export const NO_REFUSALS: RefusalLines = { since: 0, lines: 0, unwritten: 0 };

/** Counts one refused request. `write`: it gets a line, which has `unwritten` of the old state. */
export const countRefusal = (
  { since, lines, unwritten }: RefusalLines,
  now: number,
): { readonly write: boolean; readonly next: RefusalLines } => {
  if (now - since >= MINUTE_MS) return { write: true, next: { since: now, lines: 1, unwritten: 0 } };
  if (lines < MOST_LINES) return { write: true, next: { since, lines: lines + 1, unwritten: 0 } };
  return { write: false, next: { since, lines, unwritten: unwritten + 1 } };
};
