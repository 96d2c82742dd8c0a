// Lists and records whose answers cost a credit and could not be used, or that are refused: when each is asked for again. A
// service that keeps such an answer would be paid for it, or refuse hundreds of requests, in every sync. Pure; sync stores the
// entries in the mirror.
// docs/decisions/unusable-answers.md.
import { z } from "zod";
import { isoTime } from "../time.ts";

const HOUR_MS = 3_600_000;
const LONGEST_WAIT_MS = 7 * 24 * HOUR_MS;
/** Clocks of machines that take turns differ by less. */
const CLOCKS_DIFFER_MS = 60_000;
/** A refusal costs nothing, and ends when somebody grants the right. */
const LONGEST_FREE_WAIT_MS = 24 * HOUR_MS;
/** A 404 of text, which a gateway may have sent, is believed after this number of syncs in a row, the first a day ago. */
const BELIEVED_AFTER = 3;
/** Lists or records of a stream after which its others count as unusable, too. */
export const MANY_OF_STREAM = 20;

/** A list or record. The scope of the organization's own list is empty. */
export interface Place {
  readonly stream: string;
  readonly scope: string;
}

const unusableSchema = z.object({
  stream: z.string(),
  scope: z.string(),
  /** Syncs in a row in which it could not be used. */
  times: z.number().int().positive(),
  /** The last of these times, ms since the epoch. */
  at: z.number(),
  /** Earlier pages of the list could be used. */
  deep: z.literal(true).optional(),
  /** It was refused, which costs nothing. */
  free: z.literal(true).optional(),
  /** The list returns the record, and its own route does not know it yet. */
  absent: z.literal(true).optional(),
  /** It answered 404 with text in place of JSON: the first of these times, ms since the epoch. */
  since: z.number().optional(),
});
export const unusablesSchema = z.array(unusableSchema);
export type Unusable = z.output<typeof unusableSchema>;

/** A stream with lists or records that are not asked for yet. */
export interface Waiting {
  readonly stream: string;
  readonly places: number;
  /** When the first of them is asked for again, ms since the epoch. */
  readonly until: number;
}

export const isSame = (one: Place, other: Place): boolean => one.stream === other.stream && one.scope === other.scope;

/** The next sync tries once more; after that, an hour must pass, then two, four, ... up to a week, or a day if it is free. */
export const nextTryAt = ({ times, at, free }: Unusable): number =>
  times < 2 ? at : at + Math.min(free ? LONGEST_FREE_WAIT_MS : LONGEST_WAIT_MS, HOUR_MS * 2 ** Math.min(times - 2, 10));

/** An answer that could not be used. */
export interface Failure {
  /** The list was read further than the last time. */
  readonly goneOn: boolean;
  /** It was a page behind the first one. */
  readonly deep: boolean;
  /** It cost nothing. */
  readonly free: boolean;
  /** It was a 404 for a record that its list returns. */
  readonly absent?: true;
  /** It was a 404 of text, not JSON, so a gateway may have sent it. */
  readonly doubtful?: true;
}

/** The entries after an answer of `place` could not be used. */
export const withUnusable = (
  known: readonly Unusable[],
  { stream, scope }: Place,
  now: number,
  { goneOn, deep, free, absent, doubtful }: Failure,
): readonly Unusable[] => {
  const before = known.find((entry) => isSame(entry, { stream, scope }));
  const times = before === undefined || goneOn ? 1 : before.times + 1;
  const entry = {
    stream,
    scope,
    times,
    at: now,
    ...(deep ? { deep } : {}),
    ...(free ? { free } : {}),
    ...(absent ? { absent } : {}),
    ...(doubtful ? { since: before?.since ?? now } : {}),
  };
  return [...known.filter((other) => other !== before), entry];
};

/** True when the place was answered with 404s of text for so long that they are believed. */
export const isGone = (known: readonly Unusable[], place: Place, now: number): boolean =>
  known.some(
    (entry) =>
      isSame(entry, place) &&
      entry.since !== undefined &&
      entry.times >= BELIEVED_AFTER &&
      now - entry.since >= 24 * HOUR_MS,
  );

/** True when a list waits for one of its later pages only, so that its first pages, and its changes, can be read. */
export const waitsDeep = (known: readonly Unusable[], place: Place): boolean =>
  known.some((entry) => entry.deep === true && isSame(entry, place));

/** True when MANY_OF_STREAM lists or records of the stream are unusable: then one of them is tried for all. */
export const isClosed = (known: readonly Unusable[], stream: string): boolean =>
  known.filter((entry) => entry.stream === stream && entry.scope !== "" && !entry.absent).length >= MANY_OF_STREAM;

/** The entries after `place` was read. If one was tried for its whole stream, the others may be tried, too. */
export const withUsable = (known: readonly Unusable[], place: Place): readonly Unusable[] => {
  const opens = place.scope !== "" && isClosed(known, place.stream);
  return known.filter((entry) => !isSame(entry, place) && !(opens && entry.stream === place.stream));
};

/** When the place is asked for again if it waits, null if it is due. `probe`: it is tried for its whole stream. */
const waitsUntil = (known: readonly Unusable[], place: Place, now: number, probe: boolean): number | null => {
  // What a clock that was ahead noted holds nothing up.
  const entries = known.filter(({ stream, at }) => stream === place.stream && at <= now + CLOCKS_DIFFER_MS);
  const own = entries.find((entry) => isSame(entry, place));
  const closed = place.scope !== "" && isClosed(entries, place.stream);
  const until = closed ? Math.max(...entries.map(nextTryAt)) : own === undefined ? now : nextTryAt(own);
  return until > now || (closed && !probe) ? until : null;
};

/**
 * Splits due work, most valuable first, into what is asked for now and what waits. A record that its route does not know yet
 * waits, too, but is no failure: marts.freshness counts it.
 */
export const splitWaiting = <T extends Place>(
  candidates: readonly T[],
  known: readonly Unusable[],
  now: number,
): { readonly due: readonly T[]; readonly waiting: readonly Waiting[] } => {
  const waiting = new Map<string, Waiting>();
  const probed = new Set<string>();
  const due = candidates.filter((candidate) => {
    const { stream, scope } = candidate;
    const until = waitsUntil(known, candidate, now, !probed.has(stream));
    if (until === null) {
      if (scope !== "") probed.add(stream);
      return true;
    }
    if (known.some((entry) => entry.absent && isSame(entry, candidate))) return false;
    const others = waiting.get(stream);
    waiting.set(stream, { stream, places: (others?.places ?? 0) + 1, until: Math.min(until, others?.until ?? until) });
    return false;
  });
  return { due, waiting: [...waiting.values()] };
};

/** All that waits now, whether it is due or not. */
export const waitingNow = (known: readonly Unusable[], now: number): readonly Waiting[] =>
  splitWaiting(known, known, now).waiting;

/** The same as JSON, for `plan` and `check`. */
export const waitingJson = (waiting: readonly Waiting[]) =>
  waiting.map(({ stream, places, until }) => ({ stream, requests: places, asked_again_at: isoTime(until) }));
