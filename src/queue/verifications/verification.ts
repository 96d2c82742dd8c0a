// Runs one verification in a worker: never during a sync of its profile, and with a time limit for requests in flight once it
// is cancelled.
import type { SessionDeps, Sessions } from "../../../jobs/session.ts";
import { hardAfter, WORKER_GRACE_MS } from "../../../jobs/session-time.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { type DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { VerifyResult } from "../../sync/verify/verify.ts";
import type { VerifyOutcome } from "../asking/payloads.ts";

/** Runs one verification under this run id. */
export type Verify = (
  profile: Config,
  runId: string,
  context: Parameters<SessionDeps["run"]>[2],
) => Promise<VerifyResult>;

export interface VerificationRunDeps {
  readonly sessions: Pick<Sessions, "alone">;
  readonly clock: Clock;
  readonly verify: Verify;
  readonly emit: SessionDeps["emit"];
}

interface VerificationRun extends VerificationRunDeps {
  /** Ends the verification cleanly. */
  readonly signal: AbortSignal;
  /** Awaited when it has its place, before the first request. */
  readonly onRunning: () => Promise<void> | void;
}

/** State of a verification that ended with this error. Finding differences is a success; the error lists them. */
export const verifiedState = (error: DuckmirrorError | null): VerifyOutcome["state"] => {
  if (error === null || error.code === "VERIFY_DIFFERS") return "done";
  if (error.code === "INTERRUPTED") return "cancelled";
  return error.exitCode === EXIT.budget ? "stopped" : "failed";
};

/** Throws WRITER_BUSY while other work uses the mirror, INTERRUPTED, and errors of the verification. */
export const runVerification = async (config: Config, runId: string, run: VerificationRun): Promise<VerifyResult> => {
  const { sessions, clock, emit, verify, signal, onRunning } = run;
  const ran = new AbortController();
  const context = {
    signal,
    hardSignal: hardAfter(signal, ran.signal, WORKER_GRACE_MS, clock),
    emit: (event: Parameters<SessionDeps["emit"]>[0]) => emit(event, { runId, profile: config.profile }),
  };
  try {
    return await sessions.alone(config.dataDir, signal, async (onWait) => {
      await onRunning();
      return verify(config, runId, { ...context, onWait });
    });
  } finally {
    ran.abort();
  }
};
