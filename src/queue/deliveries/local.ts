// Deliveries of the worker without Redis: one at a time per destination, apart from its syncs. A publish during a delivery is
// followed by one more; a destination that is away is tried again, with the newest snapshot.
//
//   idle ─ask─▶ delivering ─done─▶ idle            delivering ─ask─▶ delivering, then once more
//                │      ▲
//                └─fail─▶ waiting ─▶ delivering     after ATTEMPTS failures: idle, until the next publish asks

import { deliverJob } from "../../../jobs/deliver.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { counted, formatDuration } from "../../core/text/units.ts";
import type { openDestination } from "../../deliver/open-destination.ts";
import { isWorthRepeating } from "../asking/failures.ts";

// One delivery of a worker: which errors are worth another attempt, and when.

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

export interface LocalDeliveries {
  /** Asks for a delivery to every destination of a profile; returns at once. */
  ask(config: Config): void;
  /** Ends what runs. */
  stop(): Promise<void>;
}

interface Busy {
  /** Asked for again since the last attempt began. */
  again: boolean;
  readonly ended: Promise<void>;
}

export const createLocalDeliveries = (deps: DeliveryDeps & { readonly clock: Clock }): LocalDeliveries => {
  const { clock, log } = deps;
  const busy = new Map<string, Busy>();
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Returns when the destination is up to date, or given up. */
  const persist = async (config: Config, name: string, onAttempt: () => void): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      onAttempt();
      try {
        return await deliverTo(config, { name, attempt }, signal, deps);
      } catch (error) {
        if (signal.aborted) return;
        const lasts = error instanceof DuckmirrorError && !isWorthRepeating(error);
        const isLast = lasts || attempt === ATTEMPTS;
        log(isLast ? "error" : "warn", `delivery to ${name}: ${detailOf(error)}`);
        if (isLast) return;
      }
      await clock.sleep(waitAfter(attempt), signal).catch(() => undefined);
    }
  };

  const start = (key: string, config: Config, name: string): void => {
    const work = async (): Promise<void> => {
      const entry = () => busy.get(key);
      do {
        await persist(config, name, () => {
          const now = entry();
          if (now !== undefined) now.again = false;
        });
      } while (entry()?.again === true && !signal.aborted);
      busy.delete(key);
    };
    // The first step runs after the entry is there.
    busy.set(key, { again: false, ended: Promise.resolve().then(work) });
  };

  return {
    ask: (config) => {
      for (const { name } of config.destinations) {
        const key = `${config.profile}.${name}`;
        const running = busy.get(key);
        if (running !== undefined) running.again = true;
        else if (!signal.aborted) start(key, config, name);
      }
    },
    stop: async () => {
      stopping.abort(new DuckmirrorError("INTERRUPTED"));
      await Promise.all([...busy.values()].map(({ ended }) => ended));
    },
  };
};
