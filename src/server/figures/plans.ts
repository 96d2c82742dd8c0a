// Forecast of the next sync for the page: computed once per snapshot and minute, one at a time over all profiles,
// because each opens its own database.
import type { Clock } from "../../core/clock.ts";
import type { Mirror } from "../server-context.ts";

/** Life of a forecast, because due work also changes with time, ms. */
const FRESH_MS = 60_000;

interface Kept {
  readonly version: string | null;
  readonly at: number;
  readonly plan: Promise<unknown>;
}

/**
 * The plan of a mirror; null if the server shows none. Rejects with the plan's error; the next reader tries again.
 */
export const createPlans = (clock: Clock): ((mirror: Mirror) => Promise<unknown> | null) => {
  const kept = new Map<string, Kept>();
  let computing: Promise<unknown> = Promise.resolve();
  return ({ name, plan, snapshots }) => {
    if (plan === undefined) return null;
    const version = snapshots.version();
    const known = kept.get(name);
    if (known !== undefined && known.version === version && clock.now() - known.at < FRESH_MS) return known.plan;
    const next = computing.then(plan);
    computing = next.catch(() => kept.delete(name));
    kept.set(name, { version, at: clock.now(), plan: next });
    return next;
  };
};
