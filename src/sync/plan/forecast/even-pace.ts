// How old each stream gets until the reset, at an even pace: the most valuable streams get all the credits they need, and what
// is left decides how rarely the others are read. Pure.
import type { StreamName } from "../../../catalog/streams.ts";
import { byWorth } from "../worth.ts";

/** A stream that the credits do not keep fresh. */
export interface Aging {
  readonly stream: StreamName;
  /** Age that its rows reach at worst, in days; null: it is not read again before the reset. */
  readonly days: number | null;
}

/** Credits that a stream needs until the reset, and the age at which it is read again while they suffice. */
export interface Need {
  readonly credits: number;
  readonly ageDays: number;
}

/** Least share of its credits with which a stream is still said to be read. */
const LEAST_SHARE = 0.01;

/**
 * Streams that get less than they need out of `credits`, oldest last. The most valuable streams are served first, as in
 * every sync.
 */
export const agingOf = (needs: ReadonlyMap<StreamName, Need>, credits: number): readonly Aging[] => {
  let left = Math.max(0, credits);
  const aging: Aging[] = [];
  for (const stream of byWorth([...needs.keys()])) {
    const need = needs.get(stream);
    if (need === undefined || need.credits <= 0) continue;
    const share = Math.min(1, left / need.credits);
    left -= need.credits * share;
    if (share < 1) aging.push({ stream, days: share < LEAST_SHARE ? null : need.ageDays / share });
  }
  return aging;
};
