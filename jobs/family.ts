// Shared code of the family jobs. A family is a group of streams; its job joins the run of its sync and reports how
// its streams ended.
import { z } from "zod";
import type { StreamName } from "../src/catalog/streams.ts";
import { DuckmirrorError, detailOf } from "../src/core/errors.ts";
import { syncReportSchema } from "../src/core/report/sync-report.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import type { SessionAsk, Sessions } from "./session.ts";

/** A failure as stored and shown, without stack. */
export const problemSchema = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type Problem = z.output<typeof problemSchema>;

/** Converts any thrown value to code, message and hint. */
export const problemOf = (error: unknown): Problem => {
  const known =
    error instanceof DuckmirrorError ? error : new DuckmirrorError("UNEXPECTED", { detail: detailOf(error) });
  return { code: known.code, message: known.message, hint: known.hint };
};

/** Result of one run for a family. */
export const familyResultSchema = z.object({
  /** The totals are those of the whole run; the streams are only the family's. */
  report: syncReportSchema,
  /** Reason why the run is incomplete, also if it concerns another family. */
  problem: problemSchema.nullable(),
});
export type FamilyResult = z.output<typeof familyResultSchema>;

/** Request to a family's job. */
export interface FamilyAsk extends Omit<SessionAsk, "streams" | "signal"> {
  /** All streams of the sync, of every family. */
  readonly streams: readonly StreamName[];
}

export interface FamilyContext {
  readonly sessions: Pick<Sessions, "join">;
  readonly signal: AbortSignal;
}

export interface FamilyJob {
  readonly family: string;
  readonly streams: readonly StreamName[];
  /** Returns the runs that report on its streams, oldest first. Throws the errors of `Sessions.join`. */
  run(ask: FamilyAsk, context: FamilyContext): Promise<readonly FamilyResult[]>;
}

/** The part of a run's result that concerns given streams. */
export const resultFor = ({ report, error }: SyncResult, streams: readonly StreamName[]): FamilyResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.some((each) => each === stream)) },
  problem: error === null ? null : problemOf(error),
});

/** Makes the job of a family. */
export const familyJob = (family: string, streams: readonly StreamName[]): FamilyJob => ({
  family,
  streams,
  run: async (ask, { sessions, signal }) => {
    const own = streams.filter((stream) => ask.streams.includes(stream));
    const results = await sessions.join({ ...ask, streams: own, signal });
    return results.map((result) => resultFor(result, own));
  },
});

/**
 * Reason why a family failed; null if it did not. It failed when one of its streams or the whole run failed. A spent
 * budget, an interruption, and failed streams of other families do not count.
 */
export const failureOf = ({ report, problem }: FamilyResult): Problem | null => {
  if (report.status === "failed") return problem;
  const failed = report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream);
  return failed.length === 0 ? null : problemOf(new DuckmirrorError("STREAMS_FAILED", { streams: failed.join(", ") }));
};
