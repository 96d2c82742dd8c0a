// Quota recorder: keeps the latest `usage` block of a run, and hands it out to be recorded whenever that is due. A reading
// carries the time at which its answer arrived, not that of its recording.
import { isLaterQuota, type QuotaSeen } from "../../budget/latest-quota.ts";
import type { Clock } from "../../core/clock.ts";
import type { QuotaReading } from "../../warehouse/record/checkpoint.ts";

/** Usage blocks are recorded at most this often while a run lasts, and once at its end. */
const QUOTA_EVERY_MS = 60_000;

export interface QuotaRecorder {
  see(seen: QuotaSeen): void;
  /** What is to be recorded now; `final`: whatever has not been recorded yet. */
  take(final?: boolean): QuotaReading | null;
}

export const createQuotaRecorder = (clock: Clock): QuotaRecorder => {
  let latest: QuotaSeen | null = null;
  let recorded: QuotaSeen | null = null;
  let recordedAt = Number.NEGATIVE_INFINITY;
  return {
    see: (seen) => {
      if (isLaterQuota(latest, seen)) latest = seen;
    },
    take: (final = false) => {
      const now = clock.now();
      if (latest === null || latest === recorded || (!final && now - recordedAt < QUOTA_EVERY_MS)) return null;
      recorded = latest;
      recordedAt = now;
      return { capturedAt: latest.receivedAt, ...latest.quota };
    },
  };
};
