// Runs verifications that are requested from a worker without Redis: one at a time per profile, never during a sync of it. They end with
// the process. With Redis they are queued (redis.ts).

import { hardAfter, type SessionDeps, type Sessions, WORKER_GRACE_MS } from "../../../jobs/session.ts";
import { whenFree } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf, EXIT, isCode } from "../../core/errors.ts";
import { levelOf, problemOf } from "../../core/report/problem.ts";
import type { RequestedState, RequestedSync, Started } from "../../core/report/triggers.ts";
import { newRunId } from "../../core/text/run-id.ts";
import type { VerifyResult } from "../../sync/verify/verify.ts";
import type { VerifyOutcome } from "../requests/job-payloads.ts";
import { profileOf, type Triggers } from "../requests/sync-requests.ts";

// Runs one verification in a worker: never during a sync of its profile, and with a time limit for requests in flight once it
// is cancelled.

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

/** State of a verification that ended with this error. One that found something wrong did its work, but is no success. */
export const verifiedState = (error: DuckmirrorError | null): VerifyOutcome["state"] => {
  if (error === null) return "done";
  if (error.code === "VERIFY_DIFFERS") return "partial";
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

export interface VerificationDeps extends VerificationRunDeps {
  readonly profiles: readonly Config[];
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
}

/** Delay before trying again while other work uses the mirror, ms. */
const BUSY_MS = 500;
/** Number of finished ones that are kept. */
const REMEMBERED = 100;

interface Entry {
  asked: RequestedSync;
  readonly cancel: AbortController;
  ended: Promise<void>;
}

const isOver = ({ asked: { state } }: Entry) => state !== "queued" && state !== "running";

/** Runs a verification once no other work uses the mirror, and notes how far it is and how it ends. */
const carryOut = async (config: Config, entry: Entry, deps: VerificationDeps): Promise<void> => {
  const { runId } = entry.asked;
  const { signal } = entry.cancel;
  const note = (state: RequestedState, error: unknown = null, report: unknown = null) => {
    entry.asked = { ...entry.asked, state, report, error: error === null ? null : problemOf(error) };
  };
  const run = { ...deps, signal, onRunning: () => note("running") };
  const free = { clock: deps.clock, busyMs: BUSY_MS, signal };
  try {
    const { report, error } = await whenFree(() => runVerification(config, runId, run), free);
    note(verifiedState(error), error, report);
  } catch (error) {
    const interrupted = isCode(error, "INTERRUPTED");
    if (!interrupted) deps.log(levelOf(error), `verification ${runId}: ${detailOf(error)}`);
    note(interrupted ? "cancelled" : "failed", error);
  }
};

export const createVerifications = (deps: VerificationDeps) => {
  const { profiles, clock, random } = deps;
  const entries = new Map<string, Entry>();
  let stopped = false;
  const open = () => [...entries.values()].filter((entry) => !isOver(entry));
  const dropOldest = () => {
    const over = [...entries].filter(([, entry]) => isOver(entry));
    for (const [id] of over.slice(0, Math.max(0, over.length - REMEMBERED))) entries.delete(id);
  };
  return {
    /** Throws PROFILE_UNKNOWN, or INTERRUPTED once stopped. */
    start: (name: string | null): Started => {
      const config = profileOf(profiles, name);
      const { profile } = config;
      const there = open().find(({ asked, cancel }) => asked.profile === profile && !cancel.signal.aborted);
      if (there !== undefined) return { runId: there.asked.runId, joined: true };
      if (stopped) throw new DuckmirrorError("INTERRUPTED");
      dropOldest();
      const runId = newRunId(clock.now(), random);
      const asked: RequestedSync = { runId, profile, askedAt: clock.now(), state: "queued", report: null, error: null };
      const entry: Entry = { asked, cancel: new AbortController(), ended: Promise.resolve() };
      entries.set(runId, entry);
      entry.ended = carryOut(config, entry, deps);
      return { runId, joined: false };
    },
    find: (runId: string): RequestedSync | null => entries.get(runId)?.asked ?? null,
    /** Returns false when it is unknown or finished. */
    cancel: (runId: string): boolean => {
      const entry = entries.get(runId);
      if (entry === undefined || isOver(entry)) return false;
      entry.cancel.abort(new DuckmirrorError("INTERRUPTED"));
      return true;
    },
    active: (): readonly RequestedSync[] => open().map(({ asked }) => asked),
    /** Ends running verifications; resolves when they have ended. */
    stop: async (): Promise<void> => {
      stopped = true;
      for (const { cancel } of entries.values()) cancel.abort(new DuckmirrorError("INTERRUPTED"));
      await Promise.all([...entries.values()].map(({ ended }) => ended));
    },
  };
};

/** Triggers that also start, find and cancel verifications. */
export const withVerifications = (
  triggers: Triggers,
  verifications: ReturnType<typeof createVerifications> | null,
): Triggers =>
  verifications === null
    ? triggers
    : {
        start: (ask) => triggers.start(ask),
        verify: async ({ profile }) => verifications.start(profile),
        find: async (runId) => verifications.find(runId) ?? triggers.find(runId),
        cancel: async (runId) => verifications.cancel(runId) || triggers.cancel(runId),
        active: async () => [...(await triggers.active()), ...verifications.active()],
      };
