// Verifications that a worker's page or API asks for: one at a time per profile, never while a sync of it runs. They are made
// in the process that was asked, which holds the mirror that its page shows, and are not queued: one that is lost has only
// looked, and what it found until then is in the ledger.
import { problemOf } from "../../jobs/family.ts";
import type { SessionDeps, Sessions } from "../../jobs/session.ts";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { DuckmirrorError, detailOf, EXIT, isCode } from "../core/errors.ts";
import { newRunId } from "../sync/run/run-sync.ts";
import type { VerifyResult } from "../sync/verify/verify.ts";
import { type AskedState, type AskedSync, profileOf, type Started, type Triggers } from "./asks.ts";

/** Makes one verification under this run id. */
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
  /** Throws PROFILE_UNKNOWN, INTERRUPTED once stopped. */
  start(profile: string | null): Started;
  find(runId: string): AskedSync | null;
  /** False when it is unknown or over. */
  cancel(runId: string): boolean;
  active(): readonly AskedSync[];
  /** Ends what is under way; resolves when it has ended. */
  stop(): Promise<void>;
}

/** Something else is done with the mirror: look again after this time, ms. */
const BUSY_MS = 500;
/** How long a request in flight may take once it is cancelled, ms. */
const GRACE_MS = 6_000;
/** Ended ones that are remembered. */
const REMEMBERED = 100;

const OVER: readonly AskedState[] = ["done", "stopped", "failed", "cancelled"];

interface Entry {
  asked: AskedSync;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

/** Differences are what it was to find, so it is done; `error` names them. */
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

  /** Makes it once nothing else holds the mirror, in this process or another. */
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
          return await sessions.alone(config.dataDir, signal, () => {
            onRunning();
            return deps.verify(config, runId, context);
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
    // Only started in the next turn: what it notes has its entry by then.
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

/** Triggers that start, find and cancel these, too. */
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
