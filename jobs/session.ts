// Sessions: jobs of one sync in the same process share ONE engine run, because credits are planned across streams,
// the most valuable requests first. The first job starts the run for all open streams of the sync; each job receives
// its streams' part of the result.
import { setMaxListeners } from "node:events";
import { STREAM_NAMES, type StreamName } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressEvent } from "../src/core/report/progress-events.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import type { JobContext } from "./engine.ts";
import { type BeginWait, createPlaces, type Places } from "./places.ts";
import { createEndedRuns, type EndedRuns, partOf } from "./session-results.ts";
import { endAfter, endAtDeadline, hardAfter, WORKER_GRACE_MS } from "./session-time.ts";
import type { SyncRequest } from "./sync.ts";

/** Request of one job to join the run of its sync. */
export interface SessionAsk {
  /** Id of the sync and of its run; a later run of the same sync gets `<id>-2` and so on. */
  readonly syncId: string;
  /** Configuration of the organization. */
  readonly profile: Config;
  /** Streams of this job. */
  readonly streams: readonly StreamName[];
  /** Open streams of the whole sync. Called when the run starts, which covers them all. */
  readonly open: () => Promise<readonly StreamName[]>;
  readonly full: boolean;
  /** `stream` or `stream:scope`: read these lists anew, and nothing else. */
  readonly reset?: readonly string[] | undefined;
  /** Day: read what is dated after it, and nothing else. */
  readonly datedAfter?: string | undefined;
  /** The caller named the streams, instead of using the configured ones. */
  readonly named: boolean;
  /** Aborting leaves the run; when the last job leaves, the run ends cleanly. */
  readonly signal: AbortSignal;
  /** W3C `traceparent` of the caller. */
  readonly traceparent?: string | undefined;
  /** Time left for the sync, including waiting, ms; null: no limit. */
  readonly leftMs: number | null;
  /** Reads it again: another request may have given a sync more time while it waited. */
  readonly readLeftMs: () => Promise<number | null>;
  /** Time limit of its run, ms; null: none. */
  readonly runMs: number | null;
}

export interface Sessions {
  /**
   * Runs these streams with all open streams of the sync. Returns the runs that report on them, oldest first, reduced
   * to this job's streams. Throws WRITER_BUSY while another sync uses the data directory, INTERRUPTED when no run was
   * started, DURATION_SPENT when the time was over before a run started, and errors of the run.
   */
  join(ask: SessionAsk): Promise<readonly SyncResult[]>;
  /**
   * Runs other work on a data directory, never during a sync of it. Throws WRITER_BUSY while the directory is in use,
   * INTERRUPTED when the signal aborts first, and errors of `work`.
   */
  alone<T>(dir: string, signal: AbortSignal, work: (onWait: BeginWait) => Promise<T>): Promise<T>;
  /** Resolves when no run is in progress. */
  idle(): Promise<void>;
}

export interface SessionDeps {
  readonly clock: Clock;
  /** Runs the engine. */
  readonly run: (
    profile: Config,
    request: SyncRequest,
    context: Required<Pick<JobContext, "signal" | "hardSignal" | "emit" | "onWait">>,
  ) => Promise<SyncResult>;
  /** Receives the events of runs. */
  readonly emit: (event: ProgressEvent, run: { readonly runId: string; readonly profile: string }) => void;
  /** Most runs at once, besides those that only wait for their service. */
  readonly most: number;
  /** Called when the number of runs that only wait changes; see places.ts. */
  readonly onLent?: (lent: number) => void;
  /** Time limit for unfinished requests after all jobs have left, ms. */
  readonly graceMs?: number;
  /**
   * Awaited before the engine starts; nobody may join the sync afterwards. A failure ends the run before it starts.
   */
  readonly onStart?: (syncId: string) => Promise<void>;
  /** Awaited after a run, so that jobs of the sync in other processes learn its result. Throws nothing. */
  readonly onEnd?: (syncId: string, result: SyncResult) => Promise<void>;
}

interface Session {
  readonly syncId: string;
  readonly signals: AbortSignal[];
  /** Aborted when all jobs have left. */
  readonly over: AbortController;
  /** Streams of its run; null until the run starts. */
  covered: readonly StreamName[] | null;
}

/** Dependencies that all sessions of a process share. */
interface Desk {
  readonly deps: SessionDeps;
  readonly places: Places;
  /** Sessions by data directory; two runs never share one. */
  readonly underWay: Map<string, { readonly session: Session; readonly result: Promise<SyncResult> }>;
  /** Data directories in use by other work. */
  readonly apart: Set<string>;
  readonly ended: EndedRuns;
}

const requestOf = (session: Session, ask: SessionAsk, covered: readonly StreamName[]): SyncRequest => ({
  streams: covered,
  named: ask.named,
  full: ask.full,
  reset: ask.reset,
  since: ask.datedAfter,
  maxDurationMs: null,
  allowMassDelete: false,
  runId: session.syncId,
  traceparent: ask.traceparent,
});

/** Runs the engine for all open streams of the sync. */
const runEngine = async (desk: Desk, session: Session, ask: SessionAsk, onWait: BeginWait): Promise<SyncResult> => {
  const { deps, ended } = desk;
  const { over, syncId } = session;
  const { profile } = ask;
  const open = await ask.open();
  const covered = STREAM_NAMES.filter((name) => open.includes(name) || ask.streams.includes(name));
  session.covered = covered;
  over.signal.throwIfAborted();
  await deps.onStart?.(syncId);
  over.signal.throwIfAborted();
  const ran = new AbortController();
  endAfter(over, ask.runMs, ran.signal, deps.clock);
  try {
    const result = await deps.run(profile, requestOf(session, ask, covered), {
      signal: over.signal,
      hardSignal: hardAfter(over.signal, ran.signal, deps.graceMs ?? WORKER_GRACE_MS, deps.clock),
      emit: (event) => deps.emit(event, { runId: syncId, profile: profile.profile }),
      onWait,
    });
    ended.remember(syncId, result);
    await deps.onEnd?.(syncId, result);
    return result;
  } finally {
    ran.abort();
  }
};

/** The job takes part in the session until its signal aborts; the last one that leaves ends the session. */
const enter = (session: Session, signal: AbortSignal): void => {
  session.signals.push(signal);
  const leave = () => {
    if (session.signals.every(({ aborted }) => aborted)) session.over.abort(new DuckmirrorError("INTERRUPTED"));
  };
  signal.addEventListener("abort", leave, { once: true });
};

/** Starts a new session with this job. */
const openSession = (desk: Desk, ask: SessionAsk): Promise<SyncResult> => {
  const { syncId, profile } = ask;
  const dir = profile.dataDir;
  const session: Session = { syncId, signals: [], over: new AbortController(), covered: null };
  setMaxListeners(0, session.over.signal);
  enter(session, ask.signal);
  const ended = new AbortController();
  endAtDeadline(session.over, ask, ended.signal, desk.deps.clock).catch(() => undefined);
  const result = desk.places
    .take(session.over.signal, (onWait) => runEngine(desk, session, ask, onWait))
    .finally(() => {
      ended.abort();
      desk.underWay.delete(dir);
    });
  desk.underWay.set(dir, { session, result });
  return result;
};

const joinRun = async (desk: Desk, ask: SessionAsk): Promise<readonly SyncResult[]> => {
  const { syncId, profile, signal, streams } = ask;
  const { clock } = desk.deps;
  const dir = profile.dataDir;
  const dueAt = ask.leftMs === null ? Number.POSITIVE_INFINITY : clock.now() + ask.leftMs;
  for (;;) {
    if (signal.aborted) throw new DuckmirrorError("INTERRUPTED");
    const { runs, left } = desk.ended.knownOf(syncId, streams);
    if (left.length === 0) return runs;
    const there = desk.underWay.get(dir);
    if (there?.session.syncId !== syncId && clock.now() >= dueAt) throw new DuckmirrorError("DURATION_SPENT");
    if (desk.apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
    if (there === undefined) return [...runs, partOf(await openSession(desk, { ...ask, streams: left }), streams)];
    const { session, result } = there;
    if (session.syncId !== syncId) throw new DuckmirrorError("WRITER_BUSY", { dir });
    const takesAll = session.covered === null || left.every((stream) => session.covered?.includes(stream));
    if (takesAll && !session.over.signal.aborted) {
      enter(session, signal);
      return [...runs, partOf(await result, streams)];
    }
    // The session is ending or lacks these streams, so they run after it.
    await result.catch(() => undefined);
  }
};

export const createSessions = (deps: SessionDeps): Sessions => {
  const desk: Desk = {
    deps,
    places: createPlaces(deps),
    underWay: new Map(),
    apart: new Set(),
    ended: createEndedRuns(),
  };
  const { places, underWay, apart } = desk;
  return {
    join: (ask) => joinRun(desk, ask),
    alone: async (dir, signal, work) => {
      if (underWay.has(dir) || apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
      apart.add(dir);
      try {
        return await places.take(signal, work);
      } finally {
        apart.delete(dir);
      }
    },
    idle: async () => {
      while (underWay.size > 0) await Promise.allSettled([...underWay.values()].map(({ result }) => result));
    },
  };
};
