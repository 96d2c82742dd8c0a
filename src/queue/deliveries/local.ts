// Delivers the newest snapshot to the destinations of a profile in a worker, apart from its syncs, and decides which errors are worth
// another attempt, and when. Also runs deliveries without Redis; redis.ts runs them as jobs.
import { deliverJob } from "../../../jobs/deliver.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { counted, formatDuration } from "../../core/text/units.ts";
import type { openDestination } from "../../deliver/open-destination.ts";
import { createProfileTasks, type ProfileTasks } from "../requests/keyed-tasks.ts";
import { isWorthRepeating } from "../requests/stored-failures.ts";

/** Attempts until a delivery is given up; the next publish asks for it again. */
export const ATTEMPTS = 10;
/** Wait after the first failed attempt, ms; each further one waits twice as long, the last one 43 minutes. */
export const FIRST_WAIT_MS = 10_000;

/** Wait after this failed attempt (1-based), ms. */
const waitAfter = (attempt: number): number => FIRST_WAIT_MS * 2 ** (attempt - 1);

export interface DeliveryDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  /** Unset: by kind. */
  readonly open?: typeof openDestination;
}

/**
 * Delivers the newest snapshot to one destination. `attempt`: 1-based. Throws the error of the delivery, or the reason of
 * `signal`.
 */
export const deliverTo = async (
  config: Config,
  { name, attempt }: { readonly name: string; readonly attempt: number },
  signal: AbortSignal,
  { clock, log, open }: DeliveryDeps,
): Promise<void> => {
  const isLast = (failure: DuckmirrorError) => attempt >= ATTEMPTS || !isWorthRepeating(failure);
  const context = { clock, signal, isLast, ...(open === undefined ? {} : { open }) };
  const [report] = await deliverJob(config, { names: [name], takeOver: false }, context);
  if (report?.error != null) throw report.error;
  const tables = report?.delivered?.tables ?? [];
  const rows = tables.reduce((sum, { written, deleted }) => sum + written + deleted, 0);
  if (tables.length > 0)
    log("info", `delivered to ${name}: ${counted(rows, "row")} (${formatDuration(report?.durationMs ?? 0)})`);
};

export const createLocalDeliveries = (deps: DeliveryDeps & { readonly clock: Clock }): ProfileTasks =>
  createProfileTasks(
    deps.clock,
    ({ destinations }) => destinations,
    (config, name) => async (attempt, signal) => {
      try {
        await deliverTo(config, { name, attempt }, signal, deps);
      } catch (error) {
        if (signal.aborted) return null;
        const isLast = attempt === ATTEMPTS || (error instanceof DuckmirrorError && !isWorthRepeating(error));
        deps.log(isLast ? "error" : "warn", `delivery to ${name}: ${detailOf(error)}`);
        if (!isLast) return waitAfter(attempt);
      }
      return null;
    },
  );
