// Counts, during a run, requests whose responses could not be used, and refused ones. Says how often to try such a request, which
// streams to skip for the rest of the run, and what the next run should remember (core/state/unusable-responses.ts), so that not every
// sync pays for the same unusable response.
import { DuckmirrorError } from "../../../core/errors.ts";
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
} from "../../../core/state/unusable-responses.ts";

export class UnusableResponses {
  /** What earlier runs knew. */
  readonly before: readonly Unusable[];
  readonly #now: () => number;
  #known: readonly Unusable[];
  /** Those that the latest plan left out. */
  #waiting: readonly Waiting[] = [];
  /** Failures of each stream since one of its records was read. */
  readonly #inARow = new Map<string, number>();

  constructor(stored: readonly Unusable[], now: () => number) {
    this.before = stored;
    this.#known = stored;
    this.#now = now;
  }

  get known(): readonly Unusable[] {
    return this.#known;
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  leaveOut(waiting: readonly Waiting[]): void {
    this.#waiting = waiting;
  }

  /** An earlier sync could not use the place's answers. */
  has(place: Place): boolean {
    return this.#known.some((entry) => isSame(entry, place));
  }

  /** Most attempts; empty: the retry policy decides. `goneOn`: this run has read a page of the list. */
  attempts(place: Place, goneOn: boolean): { readonly maxPaidAttempts?: number; readonly maxAttempts?: number } {
    const entry = goneOn ? undefined : this.#known.find((each) => isSame(each, place));
    return entry === undefined ? {} : { maxPaidAttempts: 1, ...(entry.free ? { maxAttempts: 1 } : {}) };
  }

  /** True when nothing more of the place's stream is asked for in this run. The organization's own list always is. */
  isShut({ stream, scope }: Place): boolean {
    return scope !== "" && (this.#inARow.get(stream) ?? 0) >= MANY_OF_STREAM;
  }

  failed(place: Place, failure: Failure): void {
    this.#known = withUnusable(this.#known, place, this.#now(), failure);
    const { stream, scope } = place;
    if (scope !== "" && !failure.absent) this.#inARow.set(stream, (this.#inARow.get(stream) ?? 0) + 1);
  }

  /** It answered 404 with text in place of JSON: the error with which it fails; null: the 404 is believed by now. */
  doubt(place: Place, endpoint: string): DuckmirrorError | null {
    this.failed(place, { goneOn: false, deep: false, free: true, doubtful: true });
    if (isGone(this.#known, place, this.#now())) return null;
    const detail =
      "status 404 with text in place of JSON, so a gateway may have sent it; its rows stay until later syncs get it too";
    return new DuckmirrorError("REQUEST_FAILED", { endpoint, detail });
  }

  /** Returns true if others of its stream need not wait any more. */
  read(place: Place): boolean {
    const before = this.#known.length;
    this.#known = withUsable(this.#known, place);
    this.#inARow.delete(place.stream);
    return before - this.#known.length > 1;
  }
}
