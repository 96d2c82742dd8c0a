// Forecast of the next sync for the page: computed once per snapshot and minute, one at a time over all profiles,
// because each opens its own database.
import type { Clock } from "../../core/clock.ts";
import type { Mirror } from "../http/server-context.ts";

/** Life of a forecast, because due work also changes with time, ms. */
const FRESH_MS = 60_000;

interface Kept {
  readonly version: string | null;
  readonly at: number;
  readonly plan: Promise<unknown>;
}

/** Forecasts kept at once, the latest ones: with other content it is another forecast. */
const MOST_KEPT = 100;

type PlannedMirror = Pick<Mirror, "name" | "plan"> & { readonly snapshots: Pick<Mirror["snapshots"], "version"> };

/** The plan of a mirror with this opt-in content and these lists; null if the server shows none. */
export type PlanOf = (
  mirror: PlannedMirror,
  withContent: readonly string[],
  streams?: readonly string[],
) => Promise<unknown> | null;

/** Plans reject with their error; the next reader tries again. */
export const createPlans = (clock: Clock): PlanOf => {
  const kept = new Map<string, Kept>();
  let computing: Promise<unknown> = Promise.resolve();
  return ({ name, plan, snapshots }, withContent, streams = []) => {
    if (plan === undefined) return null;
    const version = snapshots.version();
    const key = JSON.stringify([name, [...new Set(withContent)], [...new Set(streams)]]);
    const known = kept.get(key);
    if (known !== undefined && known.version === version && clock.now() - known.at < FRESH_MS) return known.plan;
    const next = computing.then(() => plan(withContent, streams));
    computing = next.catch(() => kept.delete(key));
    kept.delete(key);
    kept.set(key, { version, at: clock.now(), plan: next });
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - MOST_KEPT))) kept.delete(oldest);
    return next;
  };
};
