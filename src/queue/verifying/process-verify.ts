// Handles the job of a verification that a worker took. One that loses its worker, or whose worker stops, runs again.
import { problemOf } from "../../../jobs/family.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import type { Scrubber } from "../../core/secret.ts";
import type { VerifyReport } from "../../sync/verify/report.ts";
import { type VerifyOutcome, verifyOutcome, verifyPayload, WRITTEN } from "../asking/payloads.ts";
import { scrubbed } from "../taking/run-family.ts";
import type { SyncBoard } from "../taking/sync-board.ts";
import { ABORT, HANDED_ON_MS } from "../taking/sync-life.ts";
import { knownProfile, putOff, readPayload, SYNC_PATIENCE_MS, type Taken } from "../taking/taken-job.ts";
import { runVerification, type VerificationRunDeps, verifiedState } from "./run-verification.ts";

export interface VerifyDeps extends VerificationRunDeps {
  readonly profiles: readonly Config[];
  readonly board: Pick<SyncBoard, "isCancelled" | "start">;
  /** Removes secrets from values stored in Redis. */
  readonly scrubber: Pick<Scrubber, "scrub">;
}

/** Delay before trying again while other work uses the mirror, ms. */
const BUSY_MS = 500;

/**
 * The report as Redis keeps it: which fields differ, but not their values, which are records of the organization. Redis is
 * read by more people than the mirror, and `forget` does not reach it.
 */
const withoutValues = (report: VerifyReport): VerifyReport => ({
  ...report,
  differences: report.differences.map((difference) =>
    difference.kind === "field" ? { ...difference, mirror: null, api: null } : difference,
  ),
});

/** Runs a verification and returns its result. Throws REDIS_UNAVAILABLE; other failures are results. */
export const processVerify = async (taken: Taken, deps: VerifyDeps): Promise<VerifyOutcome> => {
  const { signal } = taken;
  const { syncId: runId, profile: name } = await readPayload(verifyPayload, taken, SYNC_PATIENCE_MS, deps);
  const profile = await knownProfile(taken, name, SYNC_PATIENCE_MS, deps);
  const isCancelled = async () => signal.reason === ABORT.cancelled || (await deps.board.isCancelled(runId));
  const ended = (state: VerifyOutcome["state"], error: unknown, report: unknown = null) => {
    const problem = error === null ? null : problemOf(error);
    return scrubbed(verifyOutcome, { ...WRITTEN.result, state, report, problem }, deps);
  };
  const cancelled = () => ended("cancelled", new DuckmirrorError("INTERRUPTED"));

  /** Its result, or the delay after which it runs again, ms. */
  const attempt = async (): Promise<VerifyOutcome | number> => {
    if (await isCancelled()) return cancelled();
    const onRunning = () => deps.board.start(runId);
    try {
      const { report, error } = await runVerification(profile, runId, { ...deps, signal, onRunning });
      if (error?.code === "INTERRUPTED" && !(await isCancelled())) return HANDED_ON_MS;
      return ended(verifiedState(error), error, withoutValues(report));
    } catch (error) {
      if (isCode(error, "REDIS_UNAVAILABLE")) throw error;
      if (isCode(error, "WRITER_BUSY")) return BUSY_MS;
      if (!signal.aborted) return ended("failed", error);
      return (await isCancelled()) ? cancelled() : HANDED_ON_MS;
    }
  };
  const end = await attempt();
  return typeof end === "number" ? putOff(taken, end, deps.clock.now()) : end;
};
