// Runs the syncs of a profile one after another, and ends one whose deadline passes while it waits.

import type { Clock } from "../../../core/clock.ts";
import { problemOf } from "../../../core/report/problem.ts";
import { LATE } from "../sync-life.ts";
import type { Carrier } from "./carry-out.ts";
import type { Entry } from "./entry.ts";

export const createOrder = (
  { carryOut, endWith }: Carrier,
  { clock, stopping }: { readonly clock: Clock; readonly stopping: AbortSignal },
) => {
  /** The last sync of each profile; the next one waits for it. */
  const tails = new Map<string | null, Promise<void>>();

  /** A sync that still waits at its deadline never starts; a running one is ended by its session. */
  const watchDeadline = async (entry: Entry): Promise<void> => {
    while (entry.dueAt !== null && entry.life === "waiting" && !stopping.aborted) {
      if (entry.cancel.signal.aborted) return;
      const leftMs = entry.dueAt - clock.now();
      if (leftMs <= 0) return endWith(entry, LATE);
      await clock.sleep(leftMs, stopping).catch(() => undefined);
    }
  };

  return {
    add: (entry: Entry): void => {
      const { profile } = entry.config;
      const before = tails.get(profile) ?? Promise.resolve();
      // A fault of duckmirror ends this sync, but not later ones.
      const mine = before.then(() => carryOut(entry)).catch((error: unknown) => endWith(entry, problemOf(error)));
      void watchDeadline(entry);
      tails.set(profile, mine);
    },
    /** Resolves when every sync has ended. */
    allEnded: () => Promise.all(tails.values()),
  };
};
