// Quota recorder: keeps the latest `usage` block of a run, and returns it whenever one should be stored. A reading
// has the time when its response arrived, not when it is stored.
import { isLaterQuota, type QuotaSeen } from "../../budget/credits/ledger.ts";
import type { Clock } from "../../core/clock.ts";
import type { QuotaReading } from "../../warehouse/record/checkpoint.ts";

/** Shortest time between two stored readings; the last one is stored at the run's end. */
const QUOTA_EVERY_MS = 60_000;

export type QuotaRecorder = ReturnType<typeof createQuotaRecorder>;

export const createQuotaRecorder = (clock: Clock) => {
  let latest: QuotaSeen | null = null;
  let recorded: QuotaSeen | null = null;
  let recordedAt = Number.NEGATIVE_INFINITY;
  /**
   * Time of the stored reading. A later one of the same millisecond gets the next, because the table has one row per
   * time.
   */
  let capturedAt = Number.NEGATIVE_INFINITY;
  return {
    see: (seen: QuotaSeen): void => {
      if (isLaterQuota(latest, seen)) latest = seen;
    },
    /** The reading to store now; `final`: also one that is not due yet. */
    take: (final = false): QuotaReading | null => {
      const now = clock.now();
      if (latest === null || latest === recorded || (!final && now - recordedAt < QUOTA_EVERY_MS)) return null;
      recorded = latest;
      recordedAt = now;
      capturedAt = Math.max(latest.receivedAt, capturedAt + 1);
      return { capturedAt, ...latest.quota };
    },
  };
};
