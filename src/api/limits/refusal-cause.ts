// What a refusal for speed counts: requests per time, or requests in flight. Pure. API.md shows neither.
import type { ApiOutcome } from "../outcome.ts";
import { openAgainAt } from "./quota-signs.ts";

/** `unclear`: it says nothing of it. */
export type RefusalCause = "rate" | "in-flight" | "unclear";

const IN_FLIGHT = /concurren|simultaneous|in[ _-]?flight|\bparallel|at the same time/i;
const PER_TIME = /\brate\b|\bper[ _-]?(second|minute|hour)\b/i;

/** A longer wait is that for a window. */
const SHORT_MS = 5_000;

/** The cause that the text of a refusal names, else the one that its headers show. */
export const refusalCause = (outcome: ApiOutcome, now: number): RefusalCause => {
  const text = outcome.kind === "refused" ? outcome.excerpt : "";
  if (IN_FLIGHT.test(text)) return "in-flight";
  const waitMs = (openAgainAt(outcome) ?? now) - now;
  const isUsedUp = outcome.kind === "refused" && outcome.rate?.remaining === 0;
  return PER_TIME.test(text) || isUsedUp || waitMs > SHORT_MS ? "rate" : "unclear";
};
