// Job verify: compares the mirror with the service within a number of credits, and repairs it where that is wanted.
import type { Config } from "../src/core/config.ts";
import { runVerify, type VerifyResult } from "../src/sync/verify.ts";
import { type JobContext, withEngine } from "./engine.ts";
import { syncOptions } from "./sync.ts";

export interface VerifyRequest {
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
  const { streams, allowMassDelete, sample, repair } = request;
  const sync = syncOptions(config, { streams, full: false, maxDurationMs: null, allowMassDelete });
  return withEngine(config, context, request.maxCredits, (deps) => runVerify({ sync, sample, repair }, deps));
};
