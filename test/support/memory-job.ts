// A sync as jobs/sync.ts runs it, over a warehouse and an archive in memory. Planner, limiter, ledger, client and
// sockets are the program's own.
import { limitsOf } from "../../jobs/engine.ts";
import { clientOf } from "../../jobs/service-access.ts";
import { type syncJob, syncOptions } from "../../jobs/sync.ts";
import { createLedger } from "../../src/budget/credits/local-ledger.ts";
import { createThrottle } from "../../src/budget/rate/throttle.ts";
import type { Clock } from "../../src/core/clock.ts";
import { type KnownTier, tierAfter } from "../../src/core/state/tier.ts";
import { grantOf, readRollOver } from "../../src/sync/plan/credits.ts";
import { createLocalSender } from "../../src/sync/request/turn.ts";
import { runSync } from "../../src/sync/run/run-sync.ts";
import type { Warehouse } from "../../src/warehouse/file/warehouse.ts";
import { createMemoryArchive } from "./memory-archive.ts";

/** Passes on a request; a clock of events hears of it here. */
type Wired = <T>(send: () => Promise<T>) => Promise<T>;
const PASS_ON: Wired = (send) => send();

/** An answer that took as long as this clock shows: the limiter would mix times of the machine's clock with it. */
const timedBy = <T extends { readonly sentAt: number }>(answer: T, clock: Clock): T & { durationMs: number } => ({
  ...answer,
  durationMs: clock.now() - answer.sentAt,
});

/** Syncs of one mirror. */
export const memoryJob = (warehouse: Warehouse, clock: Clock, wired: Wired = PASS_ON): typeof syncJob => {
  const archive = createMemoryArchive(() => undefined);
  let tier: KnownTier | null = null;
  return async (config, request, context) => {
    const client = clientOf(config, context);
    const throttle = createThrottle({ clock, configured: config.rateLimitPerMinute, pacing: config.pacing });
    const counted = {
      ...client,
      send: async (...call: Parameters<typeof client.send>) => timedBy(await wired(() => client.send(...call)), clock),
    };
    const ledger = createLedger({
      clock,
      ...limitsOf(config),
      ...grantOf(await readRollOver(warehouse.database)),
      maxCredits: config.maxCredits,
    });
    const learn = async (evidence: Parameters<typeof tierAfter>[1]) => {
      tier = tierAfter(tier, evidence, clock.now());
      return tier;
    };
    try {
      return await runSync(
        // Retention and the archive's limits are work of files.
        { ...syncOptions(config, request), archiveLimits: null, historyRetentionDays: null, ledgerRetentionDays: null },
        {
          ...context,
          warehouse,
          archive,
          sender: createLocalSender({ client: counted, throttle, credits: null }),
          ledger,
          tier: { known: tier, learn },
        },
      );
    } finally {
      await client.close();
    }
  };
};
