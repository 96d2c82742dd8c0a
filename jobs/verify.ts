// Job verify: compares the mirror with the service within a number of credits, and repairs it on request.
import type { Config } from "../src/core/config/config.ts";
import { withFollowing } from "../src/core/state/following.ts";
import { inSpan, noTracer } from "../src/core/tracing.ts";
import { runVerify, type VerifyResult } from "../src/sync/verify/verify.ts";
import { type JobContext, traceVerify, withEngine } from "./engine.ts";
import { syncOptions } from "./sync.ts";

/** Default credits of a verification: enough to check every list and some records of every other kind. */
export const VERIFY_CREDITS = 20;
/** Default number of records to compare per stream. */
export const VERIFY_SAMPLE = 100;

export interface VerifyRequest {
  /** Id of the run, or its prefix if a run has it already; unset: generated. */
  readonly runId?: string;
  /** Streams to verify; empty: those of the configuration. */
  readonly streams: readonly string[];
  /** Most credits to spend, repairs and earlier runs of this id included. */
  readonly maxCredits: number;
  /** Number of records to compare per stream. */
  readonly sample: number;
  /** Compare counts of the lists and of their parts, and nothing else; unset: sample records. */
  readonly counts?: boolean;
  readonly repair: boolean;
  readonly allowMassDelete: boolean;
}

/** Runs one verification. Throws WRITER_BUSY, SNAPSHOT_MISSING, configuration errors and faults. */
export const verifyJob = async (given: Config, request: VerifyRequest, context: JobContext): Promise<VerifyResult> => {
  const config = await withFollowing(given);
  const { streams, allowMassDelete, sample, counts = false, repair, runId } = request;
  const sync = syncOptions(config, { streams, allowMassDelete });
  const { tracer = noTracer } = context;
  return inSpan(
    tracer,
    "verify",
    (span) =>
      withEngine(config, { ...context, tracer: span }, request.maxCredits, async (deps) => {
        const options = { sync, sample, counts, repair };
        const named = runId === undefined ? {} : { runId };
        const result = await runVerify({ ...options, ...named }, deps);
        traceVerify(span, result.report, result.error);
        return result;
      }),
    { attributes: { "duckmirror.profile": config.profile } },
  );
};
