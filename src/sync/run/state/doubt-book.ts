// What a run knows of companies that only 404s without JSON call gone (core/state/doubted-absences.ts): whether their rows go.
import { DuckmirrorError } from "../../../core/errors.ts";
import { type Doubt, withDoubt, withoutDoubt } from "../../../core/state/doubted-absences.ts";
import type { Place } from "../../../core/state/unusable-answers.ts";

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
        "status 404, but its body is no JSON, so a gateway may have sent it; its rows stay until later syncs get it too";
      return new DuckmirrorError("REQUEST_FAILED", { endpoint, detail });
    },
    clear: (place) => {
      known = withoutDoubt(known, place);
    },
  };
};
