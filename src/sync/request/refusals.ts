// Refusals in a row, over all requests of a run: a service that refuses every request for long does not mean speed, and
// waiting on would only take time.
import type { ApiOutcome, Verdict } from "../../api/outcome.ts";

/** A run ends after this number of waits and this time, if every request since then was refused. */
const MOST_WAITS = 5;
const MOST_MS = 600_000;

export interface Refusals {
  /** Takes the next outcome and its verdict. Returns true once the run should end. */
  note(outcome: ApiOutcome, verdict: Verdict, now: number): boolean;
}

export const createRefusals = (): Refusals => {
  let since: number | null = null;
  let waits = 0;
  let openAt = Number.NEGATIVE_INFINITY;
  return {
    note: (outcome, verdict, now) => {
      if (outcome.kind === "broken") return false;
      const refused = verdict.kind === "wait" || (outcome.kind === "refused" && outcome.status === 429);
      if (!refused) {
        since = null;
        waits = 0;
        return false;
      }
      since ??= now;
      // Requests that were under way together are refused together, which counts once.
      if (outcome.sentAt >= openAt) waits += 1;
      if (verdict.kind === "wait") openAt = Math.max(openAt, verdict.untilMs);
      return waits > MOST_WAITS && now - since >= MOST_MS;
    },
  };
};
