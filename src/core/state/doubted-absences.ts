// Lists and companies that the service answered with a 404 of text in place of JSON. A gateway may have sent it, so their rows are
// kept until several syncs got it. Pure; sync stores the entries in the mirror. docs/decisions/unusable-answers.md.
import { z } from "zod";
import { DuckmirrorError } from "../errors.ts";
import { isSame, type Place } from "./unusable-answers.ts";

const DAY_MS = 86_400_000;
/** Syncs in a row after which such a 404 is believed if the first is a day ago, and after which it is believed anyway. */
const ENOUGH = 3;
const ENOUGH_ANYWAY = 6;

const doubtSchema = z.object({
  stream: z.string(),
  scope: z.string(),
  /** Syncs in a row. */
  times: z.number().int().positive(),
  /** The first of them, ms since the epoch. */
  since: z.number(),
});
export const doubtsSchema = z.array(doubtSchema);
export type Doubt = z.output<typeof doubtSchema>;

export const withoutDoubt = (known: readonly Doubt[], place: Place): readonly Doubt[] =>
  known.some((entry) => isSame(entry, place)) ? known.filter((entry) => !isSame(entry, place)) : known;

/** The entries after one more sync got such a 404 for `place`, and whether it is believed now. */
export const withDoubt = (
  known: readonly Doubt[],
  { stream, scope }: Place,
  now: number,
): { readonly known: readonly Doubt[]; readonly believed: boolean } => {
  const before = known.find((entry) => isSame(entry, { stream, scope }));
  const doubt = { stream, scope, times: (before?.times ?? 0) + 1, since: before?.since ?? now };
  const believed = doubt.times >= ENOUGH_ANYWAY || (doubt.times >= ENOUGH && now - doubt.since >= DAY_MS);
  const others = withoutDoubt(known, doubt);
  return { known: believed ? others : [...others, doubt], believed };
};

/** What a run knows of them. */
export interface DoubtBook {
  known(): readonly Doubt[];
  /** The place got such a 404: the error with which it fails, or null once the 404 is believed. */
  doubt(place: Place, endpoint: string): DuckmirrorError | null;
  /** The place got any other answer. */
  clear(place: Place): void;
}

export const createDoubtBook = (stored: readonly Doubt[], now: () => number): DoubtBook => {
  let known = stored;
  return {
    known: () => known,
    doubt: (place, endpoint) => {
      const after = withDoubt(known, place, now());
      known = after.known;
      if (after.believed) return null;
      const detail =
        "status 404 with text in place of JSON, so a gateway may have sent it; its rows stay until later syncs get it too";
      return new DuckmirrorError("REQUEST_FAILED", { endpoint, detail });
    },
    clear: (place) => {
      known = withoutDoubt(known, place);
    },
  };
};
