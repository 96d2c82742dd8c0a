// Job verify: compares the mirror with the service within a number of credits, and repairs it where that is wanted.
import type { Config } from "../src/core/config/config.ts";
import { inSpan, noTracer } from "../src/core/tracing.ts";
import { runVerify, type VerifyResult } from "../src/sync/verify/verify.ts";
import { type JobContext, withEngine } from "./engine.ts";
import { syncOptions } from "./sync.ts";
import { tellVerify } from "./tracing.ts";

/** What a verification spends where nobody says more: enough to see every list and some of everything else. */
export const VERIFY_CREDITS = 20;
/** Records wanted per stream where nobody says otherwise. */
export const VERIFY_SAMPLE = 100;

export interface VerifyRequest {
  /** Id of its run; unset: made up. */
  readonly runId?: string;
  /** Streams to look at; empty: those of the configuration. */
  readonly streams: readonly string[];
  /** Credits to spend at most, repairs included. */
  readonly maxCredits: number;
  /** Records wanted per stream. */
  readonly sample: number;
  readonly repair: boolean;
  readonly allowMassDelete: boolean;
}

/** Runs one verification. Throws WRITER_BUSY, SNAPSHOT_MISSING, configuration errors and faults. */
export const verifyJob = async (config: Config, request: VerifyRequest, context: JobContext): Promise<VerifyResult> => {
  const { streams, allowMassDelete, sample, repair, runId } = request;
  const sync = syncOptions(config, { streams, full: false, maxDurationMs: null, allowMassDelete });
  const { tracer = noTracer } = context;
  return inSpan(
    tracer,
    "verify",
    (span) =>
      withEngine(config, { ...context, tracer: span }, request.maxCredits, async (deps) => {
        const options = { sync, sample, repair };
        const result = await runVerify(runId === undefined ? options : { ...options, runId }, deps);
        tellVerify(span, result.report, result.error);
        return result;
      }),
    { attributes: { "duckmirror.profile": config.profile } },
  );
};
