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
import { type BeginWait, createPlaces } from "./places.ts";
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

const GRACE_MS = 6_000;
/** Longest time for reading a deadline again, ms: a sync ends in time also while Redis is away. */
const DEADLINE_READ_MS = 1_000;
/** Number of finished syncs whose results are kept for jobs that are delivered again. */
const REMEMBERED = 200;

interface Session {
  readonly syncId: string;
  readonly signals: AbortSignal[];
  /** Aborted when all jobs have left. */
  readonly over: AbortController;
  /** Streams of its run; null until the run starts. */
  covered: readonly StreamName[] | null;
}

/** The report reduced to given streams. */
const partOf = ({ report, error }: SyncResult, streams: readonly string[]): SyncResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.includes(stream)) },
  error,
});

/** True when this run decides how the stream ended. A run that Redis interrupted does not. */
const settlesStream = ({ report, error }: SyncResult, name: string): boolean =>
  error?.code !== "REDIS_UNAVAILABLE" &&
  report.streams.some(({ stream, status }) => stream === name && status !== "interrupted");

export const createSessions = (deps: SessionDeps): Sessions => {
  const { clock, graceMs = GRACE_MS } = deps;
  const places = createPlaces(deps);
  /** Sessions by data directory; two runs never share one. */
  const underWay = new Map<string, { readonly session: Session; readonly result: Promise<SyncResult> }>();
  /** Data directories in use by other work. */
  const apart = new Set<string>();
  const ended = new Map<string, SyncResult[]>();

  const remember = (syncId: string, result: SyncResult): void => {
    ended.set(syncId, [...(ended.get(syncId) ?? []), result]);
    for (const oldest of [...ended.keys()].slice(0, Math.max(0, ended.size - REMEMBERED))) ended.delete(oldest);
  };
  /** Runs of this sync that report on these streams, and the streams that none of them settles. */
  const knownOf = (syncId: string, streams: readonly StreamName[]) => {
    const runs = (ended.get(syncId) ?? []).map((result) => partOf(result, streams));
    return { runs, left: streams.filter((stream) => !runs.some((run) => settlesStream(run, stream))) };
  };

  /** A signal that aborts a grace period after `over`, unless the run ends first. */
  const hardAfter = (over: AbortSignal, ran: AbortSignal): AbortSignal => {
    const hard = new AbortController();
    const onOver = () => {
      clock.sleep(graceMs, ran).then(
        () => hard.abort(new DuckmirrorError("INTERRUPTED")),
        () => undefined,
      );
    };
    over.addEventListener("abort", onOver, { once: true });
    return hard.signal;
  };

  const endNow = ({ over }: Session): void => over.abort(new DuckmirrorError("DURATION_SPENT"));

  /** Ends the session at the time limit of its run, unless it has ended by then. */
  const endAfter = (session: Session, ms: number | null, ended: AbortSignal): void => {
    if (ms === null) return;
    clock.sleep(ms, ended).then(
      () => endNow(session),
      () => undefined,
    );
  };

  /** Time that another request has given; 0 where nobody answers in time. */
  const moreTime = async ({ readLeftMs }: SessionAsk, ended: AbortSignal): Promise<number | null> => {
    const read = new AbortController();
    const late = clock.sleep(DEADLINE_READ_MS, AbortSignal.any([ended, read.signal])).then(
      () => 0,
      () => 0,
    );
    const leftMs = await Promise.race([readLeftMs().catch(() => 0), late]);
    read.abort();
    return leftMs;
  };

  /** Ends the session at its deadline, unless it has ended by then. */
  const endAtDeadline = async (session: Session, ask: SessionAsk, ended: AbortSignal): Promise<void> => {
    let { leftMs } = ask;
    while (leftMs !== null && leftMs > 0) {
      await clock.sleep(leftMs, ended);
      leftMs = await moreTime(ask, ended);
    }
    if (leftMs !== null) endNow(session);
  };

  const start = async (session: Session, ask: SessionAsk, onWait: BeginWait): Promise<SyncResult> => {
    const { over, syncId } = session;
    const { profile, full, named, traceparent, reset, datedAfter: since } = ask;
    const open = await ask.open();
    session.covered = STREAM_NAMES.filter((name) => open.includes(name) || ask.streams.includes(name));
    over.signal.throwIfAborted();
    await deps.onStart?.(syncId);
    over.signal.throwIfAborted();
    const ran = new AbortController();
    endAfter(session, ask.runMs, ran.signal);
    const request: SyncRequest = {
      streams: session.covered,
      named,
      full,
      reset,
      since,
      maxDurationMs: null,
      allowMassDelete: false,
      runId: syncId,
      traceparent,
    };
    try {
      const result = await deps.run(profile, request, {
        signal: over.signal,
        hardSignal: hardAfter(over.signal, ran.signal),
        emit: (event) => deps.emit(event, { runId: syncId, profile: profile.profile }),
        onWait,
      });
      remember(syncId, result);
      await deps.onEnd?.(syncId, result);
      return result;
    } finally {
      ran.abort();
    }
  };

  const enter = (session: Session, signal: AbortSignal): void => {
    session.signals.push(signal);
    const leave = () => {
      if (session.signals.every(({ aborted }) => aborted)) session.over.abort(new DuckmirrorError("INTERRUPTED"));
    };
    signal.addEventListener("abort", leave, { once: true });
  };

  /** Starts a new session with this job. */
  const open = (ask: SessionAsk): Promise<SyncResult> => {
    const { syncId, profile } = ask;
    const dir = profile.dataDir;
    const session: Session = { syncId, signals: [], over: new AbortController(), covered: null };
    setMaxListeners(0, session.over.signal);
    enter(session, ask.signal);
    const ended = new AbortController();
    endAtDeadline(session, ask, ended.signal).catch(() => undefined);
    const result = places
      .take(session.over.signal, (onWait) => start(session, ask, onWait))
      .finally(() => {
        ended.abort();
        underWay.delete(dir);
      });
    underWay.set(dir, { session, result });
    return result;
  };

  const join = async (ask: SessionAsk): Promise<readonly SyncResult[]> => {
    const { syncId, profile, signal, streams } = ask;
    const dir = profile.dataDir;
    const dueAt = ask.leftMs === null ? Number.POSITIVE_INFINITY : clock.now() + ask.leftMs;
    for (;;) {
      if (signal.aborted) throw new DuckmirrorError("INTERRUPTED");
      const { runs, left } = knownOf(syncId, streams);
      if (left.length === 0) return runs;
      const there = underWay.get(dir);
      if (there?.session.syncId !== syncId && clock.now() >= dueAt) throw new DuckmirrorError("DURATION_SPENT");
      if (apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
      if (there === undefined) return [...runs, partOf(await open({ ...ask, streams: left }), streams)];
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

  const alone: Sessions["alone"] = async (dir, signal, work) => {
    if (underWay.has(dir) || apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
    apart.add(dir);
    try {
      return await places.take(signal, work);
    } finally {
      apart.delete(dir);
    }
  };

  return {
    join,
    alone,
    idle: async () => {
      while (underWay.size > 0) await Promise.allSettled([...underWay.values()].map(({ result }) => result));
    },
  };
};
