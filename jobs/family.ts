// What the jobs of all families have in common: a family is streams that belong together; its job joins the run of its
// sync and tells how its streams ended.
import { z } from "zod";
import type { StreamName } from "../src/catalog/streams.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError, detailOf } from "../src/core/errors.ts";
import { syncReportSchema } from "../src/core/sync-report.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import type { Sessions } from "./session.ts";

/** A failure as it is stored and shown; no stack. */
export const problemSchema = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type Problem = z.output<typeof problemSchema>;

/** Anything thrown as code, message and hint. */
export const problemOf = (error: unknown): Problem => {
  const known =
    error instanceof DuckmirrorError ? error : new DuckmirrorError("UNEXPECTED", { detail: detailOf(error) });
  return { code: known.code, message: known.message, hint: known.hint };
};

/** How one run ended for a family. */
export const familyResultSchema = z.object({
  /** Totals are those of the whole run, the streams only the family's. */
  report: syncReportSchema,
  /** Why the run did not do all it set out to do, whichever family that concerns. */
  problem: problemSchema.nullable(),
});
export type FamilyResult = z.output<typeof familyResultSchema>;

/** What a family's job is asked. */
export interface FamilyAsk {
  readonly syncId: string;
  readonly profile: Config;
  /** Streams of the sync, of all families. */
  readonly streams: readonly StreamName[];
  /** Those that are still open when the run starts. */
  readonly open: () => Promise<readonly StreamName[]>;
  readonly full: boolean;
  readonly named: boolean;
  /** W3C `traceparent` of whoever asked. */
  readonly traceparent?: string | undefined;
}

export interface FamilyContext {
  readonly sessions: Pick<Sessions, "join">;
  readonly signal: AbortSignal;
}

export interface FamilyJob {
  readonly family: string;
  readonly streams: readonly StreamName[];
  /** The runs that say how its streams ended, oldest first. Throws what `Sessions.join` throws. */
  run(ask: FamilyAsk, context: FamilyContext): Promise<readonly FamilyResult[]>;
}

/** What a run says of some streams. */
export const resultFor = ({ report, error }: SyncResult, streams: readonly StreamName[]): FamilyResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.some((each) => each === stream)) },
  problem: error === null ? null : problemOf(error),
});

/** The job of a family. */
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
 * Why a family failed; null when it did not. Its own streams failed, or the run as a whole: a spent budget or an
 * interruption is no failure, and neither are failed streams of other families.
 */
export const failureOf = ({ report, problem }: FamilyResult): Problem | null => {
  if (report.status === "failed") return problem;
  const failed = report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream);
  return failed.length === 0 ? null : problemOf(new DuckmirrorError("STREAMS_FAILED", { streams: failed.join(", ") }));
};
