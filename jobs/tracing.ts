// Attributes of the spans of whole jobs: figures, codes and stream names, never values of records. PURE.
import { type DuckmirrorError, EXIT } from "../src/core/errors.ts";
import type { SyncReport } from "../src/core/report/sync-report.ts";
import type { Span, SpanAttributes } from "../src/core/tracing.ts";
import type { VerifyReport } from "../src/sync/verify/report.ts";

const total = (report: SyncReport, name: "inserted" | "updated" | "deleted" | "unchanged" | "rejected"): number =>
  report.streams.reduce((sum, stream) => sum + stream[name], 0);

const syncAttributes = (report: SyncReport): SpanAttributes => ({
  "duckmirror.run.id": report.run_id,
  "duckmirror.mode": report.mode,
  "duckmirror.status": report.status,
  "duckmirror.streams": report.streams.map(({ stream }) => stream),
  "duckmirror.streams_failed": report.streams.flatMap(({ stream, status }) => (status === "failed" ? [stream] : [])),
  "duckmirror.requests": report.requests,
  "duckmirror.credits.spent": report.credits.spent,
  "duckmirror.credits.ambiguous": report.credits.ambiguous,
  "duckmirror.credits.remaining": report.credits.remaining,
  "duckmirror.rows.inserted": total(report, "inserted"),
  "duckmirror.rows.updated": total(report, "updated"),
  "duckmirror.rows.deleted": total(report, "deleted"),
  "duckmirror.rows.unchanged": total(report, "unchanged"),
  "duckmirror.rows.rejected": total(report, "rejected"),
});

/** Sets the result of a sync. A spent budget or an interruption is no failure; `duckmirror.ended_by` shows it. */
export const noteSync = (span: Span, report: SyncReport, error: DuckmirrorError | null): void => {
  span.set({ ...syncAttributes(report), "duckmirror.ended_by": error?.code });
  if (report.status === "failed" || report.status === "partial") span.fail(error?.code ?? "STREAMS_FAILED");
};

/** Sets the result of a verification. Differences are its result, so they are no failure. */
export const noteVerify = (span: Span, report: VerifyReport, error: DuckmirrorError | null): void => {
  span.set({
    "duckmirror.run.id": report.run_id,
    "duckmirror.requests": report.checks.length,
    "duckmirror.credits.spent": report.credits.spent,
    "duckmirror.credits.remaining": report.credits.remaining,
    "duckmirror.differences": report.differences.length,
    "duckmirror.repaired": report.differences.filter(({ repaired }) => repaired).length,
    "duckmirror.ended_by": error?.code,
  });
  const failed = error !== null && error.code !== "VERIFY_DIFFERS" && error.code !== "INTERRUPTED";
  if (failed && error.exitCode !== EXIT.budget) span.fail(error.code);
};
