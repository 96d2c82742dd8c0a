// A run's record of answers that could not be used, and of refusals (core/state/unusable-answers.ts): how often a request
// is tried, which streams end for this run, and what the mirror remembers.
import type { StreamName } from "../../../catalog/streams.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { ProgressSink } from "../../../core/report/sync-progress.ts";
import {
  type Failure,
  isGone,
  isSame,
  MANY_OF_STREAM,
  type Place,
  type Unusable,
  type Waiting,
  withUnusable,
  withUsable,
} from "../../../core/state/unusable-answers.ts";
import { isoTime } from "../../../core/time.ts";

export interface UnusableBook {
  /** What earlier runs knew. */
  readonly before: readonly Unusable[];
  known(): readonly Unusable[];
  /** An earlier sync could not use the place's answers. */
  has(place: Place): boolean;
  /** Most attempts; empty: the retry policy decides. `goneOn`: this run has read a page of the list. */
  attempts(place: Place, goneOn: boolean): { readonly maxPaidAttempts?: number; readonly maxAttempts?: number };
  /** True when nothing more of the place's stream is asked for in this run. The organization's own list always is. */
  isShut(place: Place): boolean;
  failed(place: Place, failure: Failure): void;
  /** It answered 404 with text in place of JSON: the error with which it fails; null: the 404 is believed by now. */
  doubt(place: Place, endpoint: string): DuckmirrorError | null;
  /** Those that the latest plan left out. */
  readonly waiting: readonly Waiting[];
  leaveOut(waiting: readonly Waiting[]): void;
  /** Returns true if others of its stream need not wait any more. */
  read(place: Place): boolean;
}

export const createUnusableBook = (stored: readonly Unusable[], now: () => number): UnusableBook => {
  let waiting: readonly Waiting[] = [];
  let known = stored;
  const inARow = new Map<string, number>();
  const has = (place: Place) => known.some((entry) => isSame(entry, place));
  const failuresOf = ({ stream, scope }: Place) => (scope === "" ? 0 : (inARow.get(stream) ?? 0));
  const failed = (place: Place, failure: Failure) => {
    known = withUnusable(known, place, now(), failure);
    if (place.scope !== "" && !failure.absent) inARow.set(place.stream, failuresOf(place) + 1);
  };
  return {
    before: stored,
    known: () => known,
    has,
    attempts: (place, goneOn) => {
      const entry = goneOn ? undefined : known.find((each) => isSame(each, place));
      return entry === undefined ? {} : { maxPaidAttempts: 1, ...(entry.free ? { maxAttempts: 1 } : {}) };
    },
    isShut: (place) => failuresOf(place) >= MANY_OF_STREAM,
    failed,
    doubt: (place, endpoint) => {
      failed(place, { goneOn: false, deep: false, free: true, doubtful: true });
      if (isGone(known, place, now())) return null;
      const detail =
        "status 404 with text in place of JSON, so a gateway may have sent it; its rows stay until later syncs get it too";
      return new DuckmirrorError("REQUEST_FAILED", { endpoint, detail });
    },
    get waiting() {
      return waiting;
    },
    leaveOut: (found) => {
      waiting = found;
    },
    read: (place) => {
      const before = known.length;
      known = withUsable(known, place);
      inARow.delete(place.stream);
      return before - known.length > 1;
    },
  };
};

/** Reports lists or records that wait as failures of their streams, unless the run had another one. */
export const reportWaiting = (
  waiting: readonly Waiting[],
  {
    streams,
    of,
    emit,
  }: {
    readonly streams: readonly StreamName[];
    readonly of: (stream: StreamName) => { failed: string | null };
    readonly emit: ProgressSink;
  },
): void => {
  for (const { stream: name, places, until } of waiting) {
    const stream = streams.find((wanted) => wanted === name);
    const stats = stream === undefined ? null : of(stream);
    if (stream === undefined || stats === null || stats.failed !== null) continue;
    const error = new DuckmirrorError("ANSWERS_UNUSABLE", { stream, count: places, until: isoTime(until) });
    stats.failed = `${error.code}: ${error.message}`;
    emit({ kind: "note", level: "warn", text: `${error.message} ${error.hint}` });
  }
};
