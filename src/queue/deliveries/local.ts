// Deliveries of the worker without Redis: one at a time per destination, apart from its syncs. A publish during a delivery is
// followed by one more; a destination that is away is tried again, with the newest snapshot.
//
//   idle ─ask─▶ delivering ─done─▶ idle            delivering ─ask─▶ delivering, then once more
//                │      ▲
//                └─fail─▶ waiting ─▶ delivering     after ATTEMPTS failures: idle, until the next publish asks
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { isWorthRepeating } from "../asking/failures.ts";
import { ATTEMPTS, type DeliveryDeps, deliverTo, waitAfter } from "./delivery.ts";

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
