// Verifications requested from a worker without Redis: one at a time per profile, never during a sync of it. They end
// with the process. With Redis they are queued (redis.ts).

import type { SessionDeps, Sessions } from "../../../jobs/session.ts";
import { hardAfter, WORKER_GRACE_MS } from "../../../jobs/session-time.ts";
import { whenFree } from "../../core/async/when-free.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf, EXIT, isCode } from "../../core/errors.ts";
import { levelOf, problemOf } from "../../core/report/problem.ts";
import type { AskedState, AskedSync, Started } from "../../core/report/triggers.ts";
import { newRunId } from "../../core/text/run-id.ts";
import type { VerifyResult } from "../../sync/verify/verify.ts";
import { profileOf, type Triggers } from "../asking/asks.ts";
import type { VerifyOutcome } from "../asking/payloads.ts";

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
export const verifiedState = (error: DuckmirrorError | null): VerifyOutcome["state"] | "partial" => {
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

export interface Verifications {
  /** Throws PROFILE_UNKNOWN, or INTERRUPTED once stopped. */
  start(profile: string | null): Started;
  find(runId: string): AskedSync | null;
  /** Returns false when it is unknown or finished. */
  cancel(runId: string): boolean;
  active(): readonly AskedSync[];
  /** Ends running verifications; resolves when they have ended. */
  stop(): Promise<void>;
}

/** Delay before trying again while other work uses the mirror, ms. */
const BUSY_MS = 500;
/** Number of finished ones that are kept. */
const REMEMBERED = 100;

const OVER: readonly AskedState[] = ["done", "partial", "stopped", "failed", "cancelled"];

interface Entry {
  asked: AskedSync;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

const isOver = ({ asked }: Entry) => OVER.includes(asked.state);

type Note = (more: Pick<AskedSync, "state"> & Partial<AskedSync>) => void;

/** Runs a verification once no other work uses the mirror, and notes how far it is and how it ends. */
const carryOut = async (
  config: Config,
  { runId, signal, note }: { readonly runId: string; readonly signal: AbortSignal; readonly note: Note },
  deps: VerificationDeps,
): Promise<void> => {
  const run = { ...deps, signal, onRunning: () => note({ state: "running" }) };
  const free = { clock: deps.clock, busyMs: BUSY_MS, signal };
  try {
    const { report, error } = await whenFree(() => runVerification(config, runId, run), free);
    note({ state: verifiedState(error), report, error: error === null ? null : problemOf(error) });
  } catch (error) {
    const interrupted = isCode(error, "INTERRUPTED");
    if (!interrupted) deps.log(levelOf(error), `verification ${runId}: ${detailOf(error)}`);
    note({ state: interrupted ? "cancelled" : "failed", error: problemOf(error) });
  }
};

/** A verification that starts in the next turn, when the entry for its notes exists. */
const startEntry = (config: Config, runId: string, deps: VerificationDeps): Entry => {
  const cancel = new AbortController();
  const base = { runId, profile: config.profile, askedAt: deps.clock.now(), report: null, error: null };
  const note: Note = (more) => {
    entry.asked = { ...base, ...more };
  };
  const ended = Promise.resolve().then(() => carryOut(config, { runId, signal: cancel.signal, note }, deps));
  const entry: Entry = { asked: { ...base, state: "queued" }, cancel, ended };
  return entry;
};

/** Drops the oldest finished ones beyond the number that is kept. */
const dropOldest = (entries: Map<string, Entry>): void => {
  const ended = [...entries].filter(([, entry]) => isOver(entry)).map(([id]) => id);
  for (const id of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) entries.delete(id);
};

export const createVerifications = (deps: VerificationDeps): Verifications => {
  const { profiles, clock, random } = deps;
  const entries = new Map<string, Entry>();
  let stopped = false;

  const start = (name: string | null): Started => {
    const config = profileOf(profiles, name);
    const there = [...entries.values()].find(
      (entry) => entry.asked.profile === config.profile && !isOver(entry) && !entry.cancel.signal.aborted,
    );
    if (there !== undefined) return { runId: there.asked.runId, joined: true };
    if (stopped) throw new DuckmirrorError("INTERRUPTED");
    dropOldest(entries);
    const runId = newRunId(clock.now(), random);
    entries.set(runId, startEntry(config, runId, deps));
    return { runId, joined: false };
  };

  return {
    start,
    find: (runId) => entries.get(runId)?.asked ?? null,
    cancel: (runId) => {
      const entry = entries.get(runId);
      if (entry === undefined || isOver(entry)) return false;
      entry.cancel.abort(new DuckmirrorError("INTERRUPTED"));
      return true;
    },
    active: () => [...entries.values()].filter((entry) => !isOver(entry)).map(({ asked }) => asked),
    stop: async () => {
      stopped = true;
      for (const { cancel } of entries.values()) cancel.abort(new DuckmirrorError("INTERRUPTED"));
      await Promise.all([...entries.values()].map(({ ended }) => ended));
    },
  };
};

/** Triggers that also start, find and cancel verifications. */
export const withVerifications = (triggers: Triggers, verifications: Verifications | null): Triggers =>
  verifications === null
    ? triggers
    : {
        start: (ask) => triggers.start(ask),
        verify: async ({ profile }) => verifications.start(profile),
        find: async (runId) => verifications.find(runId) ?? triggers.find(runId),
        cancel: async (runId) => verifications.cancel(runId) || triggers.cancel(runId),
        active: async () => [...(await triggers.active()), ...verifications.active()],
      };
