// Requests smaller pages after a page failed because of its size (time limit, 413, 5xx), and remembers for a week the size that worked.
// Pure. docs/decisions/paging.md.
import type { ApiOutcome } from "../../api/outcome.ts";
import { type ListForm, SIZES } from "../list/form.ts";

const DAY_MS = 86_400_000;
/** After this time the size that failed is tried once more: the service may have failed for another reason. */
const RETRY_AFTER_MS = 7 * DAY_MS;
/** Smaller pages than the documented default are no cure (API.md, "Limits"). */
const SMALLEST = 20;

/**
 * What a page failed with: an answer, a time limit, or a body over the limit. A time limit takes long and such a body costs a credit, so
 * larger steps are taken.
 */
export type SizeFailure = "answered" | "slow" | "paid";

/** How a page failed if a smaller one may be answered; null: the size of the page is not the reason. */
export const sizeFailureOf = (outcome: ApiOutcome): SizeFailure | null => {
  if (outcome.kind === "broken") {
    if (outcome.reason === "too_large") return "paid";
    return outcome.reason === "timeout" && outcome.reached === "unknown" ? "slow" : null;
  }
  if (outcome.kind !== "refused") return null;
  const { status } = outcome;
  if (status === 408 || status === 504) return "slow";
  return status === 413 || (status >= 500 && status !== 501 && status !== 505) ? "answered" : null;
};

/** Codes of failures that `sizeFailureOf` sees, as the state of a list stores them. */
export const SIZE_FAILURE_CODES: ReadonlySet<string> = new Set([
  "REQUEST_FAILED",
  "SERVICE_UNREACHABLE",
  "RESPONSE_TOO_LARGE",
]);

/** The page size to try after one that failed; null: none is left. */
export const sizeBelow = (perPage: number, failure: SizeFailure): number | null => {
  if (perPage <= SMALLEST) return null;
  const aim = Math.max(SMALLEST, perPage / (failure === "answered" ? 2 : 4));
  return SIZES.find((size) => size <= aim) ?? null;
};

/** The shape with smaller pages. Until one is answered nothing is stored, and one request of the stream is in flight. */
export const withSmallerPages = (shape: ListForm, perPage: number, now: number): ListForm => ({
  ...shape,
  perPage,
  settled: false,
  failed: shape.failed ?? { perPage: shape.perPage, at: now },
});

/** The shape when a page of `perPage` rows was asked for and answered: one as large as those that failed excuses them. */
export const afterAnswerTo = (shape: ListForm, failed: NonNullable<ListForm["failed"]>, perPage: number): ListForm =>
  perPage >= failed.perPage ? { ...shape, perPage: failed.perPage, failed: null } : shape;

/** The shape that a later run begins with. */
export const withLargePagesAgain = (shape: ListForm, now: number): ListForm =>
  shape.failed !== null && now - shape.failed.at >= RETRY_AFTER_MS
    ? { ...shape, perPage: shape.failed.perPage, failed: null, settled: false }
    : shape;
