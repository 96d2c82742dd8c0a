// Verifications requested from a worker's page or API: one at a time per profile, never during a sync of it. The
// process that received the request runs them, because it holds the mirror that its page shows. They are not queued:
// a lost one has changed nothing, and its findings are in the ledger.
import { problemOf } from "../../jobs/family.ts";
import type { SessionDeps, Sessions } from "../../jobs/session.ts";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { DuckmirrorError, detailOf, EXIT, isCode } from "../core/errors.ts";
import { newRunId } from "../sync/run/run-sync.ts";
import type { VerifyResult } from "../sync/verify/verify.ts";
import { type AskedState, type AskedSync, profileOf, type Started, type Triggers } from "./asks.ts";

/** Runs one verification under this run id. */
export type Verify = (
  profile: Config,
  runId: string,
  context: Parameters<SessionDeps["run"]>[2],
) => Promise<VerifyResult>;

export interface VerificationDeps {
  readonly profiles: readonly Config[];
  readonly sessions: Pick<Sessions, "alone">;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly verify: Verify;
  readonly emit: SessionDeps["emit"];
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
/** Time limit for a request in flight after a cancellation, ms. */
const GRACE_MS = 6_000;
/** Number of finished ones that are kept. */
const REMEMBERED = 100;

const OVER: readonly AskedState[] = ["done", "stopped", "failed", "cancelled"];

interface Entry {
  asked: AskedSync;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

/** Finding differences is a success; `error` lists them. */
const stateOf = (error: DuckmirrorError | null): AskedState => {
  if (error === null || error.code === "VERIFY_DIFFERS") return "done";
  if (error.code === "INTERRUPTED") return "cancelled";
  return error.exitCode === EXIT.budget ? "stopped" : "failed";
};

export const createVerifications = (deps: VerificationDeps): Verifications => {
  const { profiles, sessions, clock, random, emit } = deps;
  const entries = new Map<string, Entry>();
  let stopped = false;

  const isOver = ({ asked }: Entry) => OVER.includes(asked.state);

  /** Runs it once no other work uses the mirror, in this process or another. */
  const carryOut = async (
    config: Config,
    runId: string,
    signal: AbortSignal,
    onRunning: () => void,
  ): Promise<VerifyResult> => {
    const hard = new AbortController();
    const ran = new AbortController();
    signal.addEventListener("abort", () => {
      clock.sleep(GRACE_MS, ran.signal).then(
        () => hard.abort(new DuckmirrorError("INTERRUPTED")),
        () => undefined,
      );
    });
    const context = {
      signal,
      hardSignal: hard.signal,
      emit: (event: Parameters<SessionDeps["emit"]>[0]) => emit(event, { runId, profile: config.profile }),
    };
    try {
      for (;;) {
        try {
          return await sessions.alone(config.dataDir, signal, (onWait) => {
            onRunning();
            return deps.verify(config, runId, { ...context, onWait });
          });
        } catch (error) {
          if (!isCode(error, "WRITER_BUSY")) throw error;
        }
        await clock.sleep(BUSY_MS, signal).catch(() => {
          throw new DuckmirrorError("INTERRUPTED");
        });
      }
    } finally {
      ran.abort();
    }
  };

  const start = (name: string | null): Started => {
    const config = profileOf(profiles, name);
    const there = [...entries.values()].find(
      (entry) => entry.asked.profile === config.profile && !isOver(entry) && !entry.cancel.signal.aborted,
    );
    if (there !== undefined) return { runId: there.asked.runId, joined: true };
    if (stopped) throw new DuckmirrorError("INTERRUPTED");
    const ended = [...entries].filter(([, entry]) => isOver(entry)).map(([id]) => id);
    for (const id of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) entries.delete(id);

    const runId = newRunId(clock.now(), random);
    const cancel = new AbortController();
    const base = { runId, profile: config.profile, askedAt: clock.now(), report: null, error: null };
    const note = (more: Pick<AskedSync, "state"> & Partial<AskedSync>) => {
      entry.asked = { ...base, ...more };
    };
    // Starts in the next turn, when the entry for its notes exists.
    const work = async () => {
      await Promise.resolve();
      try {
        const { report, error } = await carryOut(config, runId, cancel.signal, () => note({ state: "running" }));
        note({ state: stateOf(error), report, error: error === null ? null : problemOf(error) });
      } catch (error) {
        const interrupted = isCode(error, "INTERRUPTED");
        if (!interrupted) deps.log("error", `verification ${runId}: ${detailOf(error)}`);
        note({ state: interrupted ? "cancelled" : "failed", error: problemOf(error) });
      }
    };
    const entry: Entry = { asked: { ...base, state: "queued" }, cancel, ended: work() };
    entries.set(runId, entry);
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
