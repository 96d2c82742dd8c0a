// Runs the syncs of a worker. Two runs never use one data directory at once; other work on the directory waits. Each run needs a slot
// (run-slots.ts), and has a deadline, which other requests may extend, and a grace period for its unfinished requests.
import { setMaxListeners } from "node:events";
import type { StreamName } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressEvent } from "../src/core/report/sync-progress.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import type { JobContext } from "./engine.ts";
import { type BeginWait, createRunSlots, type RunSlots } from "./run-slots.ts";
import type { SyncRequest } from "./sync.ts";

/** Time limit for unfinished requests once work of a worker ends, ms; shorter than a worker's time to stop. */
export const WORKER_GRACE_MS = 6_000;
/** Longest time for reading a deadline again, ms: a sync ends in time also while Redis is away. */
const DEADLINE_READ_MS = 1_000;

interface Deadline {
  /** Time left for the sync, ms; null: no limit. */
  readonly leftMs: number | null;
  /** Reads it again. */
  readonly readLeftMs: () => Promise<number | null>;
}

/** A signal that aborts a grace period after `stop`, unless the run ends first. */
export const hardAfter = (stop: AbortSignal, ran: AbortSignal, graceMs: number, clock: Clock): AbortSignal => {
  const hard = new AbortController();
  const onOver = () => {
    clock.sleep(graceMs, ran).then(
      () => hard.abort(new DuckmirrorError("INTERRUPTED")),
      () => undefined,
    );
  };
  stop.addEventListener("abort", onOver, { once: true, signal: ran });
  return hard.signal;
};

const endNow = (stop: AbortController): void => stop.abort(new DuckmirrorError("DURATION_SPENT"));

/** Ends the session at the time limit of its run; null: none. */
export const endAfter = (stop: AbortController, ms: number | null, ended: AbortSignal, clock: Clock): void => {
  if (ms === null) return;
  clock.sleep(ms, ended).then(
    () => endNow(stop),
    () => undefined,
  );
};

/** Time that another request has given; 0 where nobody answers in time. */
const moreTime = async ({ readLeftMs }: Deadline, ended: AbortSignal, clock: Clock): Promise<number | null> => {
  const read = new AbortController();
  const late = clock.sleep(DEADLINE_READ_MS, AbortSignal.any([ended, read.signal])).then(
    () => 0,
    () => 0,
  );
  const leftMs = await Promise.race([readLeftMs().catch(() => 0), late]);
  read.abort();
  return leftMs;
};

/** Ends the session at its deadline. Rejects when the session has ended by then. */
export const endAtDeadline = async (
  stop: AbortController,
  deadline: Deadline,
  ended: AbortSignal,
  clock: Clock,
): Promise<void> => {
  let { leftMs } = deadline;
  while (leftMs !== null && leftMs > 0) {
    await clock.sleep(leftMs, ended);
    leftMs = await moreTime(deadline, ended, clock);
  }
  if (leftMs !== null) endNow(stop);
};

/** Request for a run of a sync. */
export interface SyncRunRequest {
  /** Id of the sync and of its run; a later run of the same sync gets `<id>-2` and so on. */
  readonly syncId: string;
  /** Configuration of the organization. */
  readonly profile: Config;
  /** Streams that no earlier run of the sync has settled. */
  readonly streams: readonly StreamName[];
  readonly full: boolean;
  /** `stream` or `stream:scope`: read these lists anew, and nothing else. */
  readonly reset?: readonly string[] | undefined;
  /** Day: read what is dated after it, and nothing else. */
  readonly datedAfter?: string | undefined;
  /** The caller named the streams, instead of using the configured ones. */
  readonly named: boolean;
  /** Aborting it ends the run cleanly. */
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
   * Runs the streams. Returns the runs of the sync in this process, oldest first: also earlier ones, whose result the queue
   * did not receive; what they settled is not run again. Throws WRITER_BUSY while other work uses the data directory,
   * INTERRUPTED when no run was started, DURATION_SPENT when the time was over before a run started, and errors of the run.
   */
  run(ask: SyncRunRequest): Promise<readonly SyncResult[]>;
  /**
   * Runs other work on a data directory, never during a sync of it. Throws WRITER_BUSY while the directory is in use,
   * INTERRUPTED when the signal aborts first, and errors of `work`.
   */
  alone<T>(dir: string, signal: AbortSignal, work: (onWait: BeginWait) => Promise<T>): Promise<T>;
}

type SessionRequest = SyncRequest & Pick<SyncRunRequest, "streams">;

export interface SessionDeps {
  readonly clock: Clock;
  /** Runs the engine. */
  readonly run: (
    profile: Config,
    request: SessionRequest,
    context: Required<Pick<JobContext, "signal" | "hardSignal" | "emit" | "onWait">>,
  ) => Promise<SyncResult>;
  /** Receives the events of runs. */
  readonly emit: (event: ProgressEvent, run: { readonly runId: string; readonly profile: string }) => void;
  /** Most runs at once, besides those that only wait for their service. */
  readonly most: number;
  /** Called when the number of runs that only wait changes; see places.ts. */
  readonly onLent?: (lent: number) => void;
  /** Awaited before the engine starts; nobody may join the sync afterwards. A failure ends the run before it starts. */
  readonly onStart?: (syncId: string) => Promise<void>;
}

/** Number of syncs whose results are kept. */
const REMEMBERED = 200;

/** True when this run decides how the stream ended. A run that Redis interrupted does not. */
const settlesStream = ({ report, error }: SyncResult, name: string): boolean =>
  error?.code !== "REDIS_UNAVAILABLE" &&
  report.streams.some(({ stream, status }) => stream === name && status !== "interrupted");

/** Results of the runs of recent syncs, for a sync that is delivered again. */
const createEndedRuns = () => {
  const ended = new Map<string, SyncResult[]>();
  return {
    remember: (syncId: string, result: SyncResult): void => {
      ended.set(syncId, [...(ended.get(syncId) ?? []), result]);
      for (const oldest of [...ended.keys()].slice(0, Math.max(0, ended.size - REMEMBERED))) ended.delete(oldest);
    },
    /** Runs of this sync, and the streams that none of them settles. */
    knownOf: (syncId: string, streams: readonly StreamName[]) => {
      const runs = ended.get(syncId) ?? [];
      return { runs, left: streams.filter((stream) => !runs.some((run) => settlesStream(run, stream))) };
    },
  };
};

/** Dependencies that all sessions of a process share. */
interface Desk {
  readonly deps: SessionDeps;
  readonly places: RunSlots;
  /** Data directories in use. */
  readonly inUse: Set<string>;
  readonly ended: ReturnType<typeof createEndedRuns>;
}

const requestOf = (ask: SyncRunRequest): SessionRequest => ({
  streams: ask.streams,
  named: ask.named,
  full: ask.full,
  reset: ask.reset,
  since: ask.datedAfter,
  runId: ask.syncId,
  traceparent: ask.traceparent,
});

const runEngine = async (
  { deps, ended }: Desk,
  ask: SyncRunRequest,
  stop: AbortController,
  onWait: BeginWait,
): Promise<SyncResult> => {
  const { profile, syncId } = ask;
  stop.signal.throwIfAborted();
  await deps.onStart?.(syncId);
  stop.signal.throwIfAborted();
  const ran = new AbortController();
  endAfter(stop, ask.runMs, ran.signal, deps.clock);
  try {
    const result = await deps.run(profile, requestOf(ask), {
      signal: stop.signal,
      hardSignal: hardAfter(stop.signal, ran.signal, WORKER_GRACE_MS, deps.clock),
      emit: (event) => deps.emit(event, { runId: syncId, profile: profile.profile }),
      onWait,
    });
    ended.remember(syncId, result);
    return result;
  } finally {
    ran.abort();
  }
};

/** Waits for a place and runs the sync; ends it when its signal aborts or its time is over. */
const openSession = async (desk: Desk, ask: SyncRunRequest): Promise<SyncResult> => {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const ended = new AbortController();
  const end = () => stop.abort(new DuckmirrorError("INTERRUPTED"));
  ask.signal.addEventListener("abort", end, { once: true, signal: ended.signal });
  endAtDeadline(stop, ask, ended.signal, desk.deps.clock).catch(() => undefined);
  try {
    return await desk.places.take(stop.signal, (onWait) => runEngine(desk, ask, stop, onWait));
  } finally {
    ended.abort();
  }
};

/** Does the work while nothing else in this process uses the data directory. Throws WRITER_BUSY. */
const inDirectory = async <T>({ inUse }: Desk, dir: string, work: () => Promise<T>): Promise<T> => {
  if (inUse.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
  inUse.add(dir);
  try {
    return await work();
  } finally {
    inUse.delete(dir);
  }
};

export const createSessions = (deps: SessionDeps): Sessions => {
  const desk: Desk = { deps, places: createRunSlots(deps), inUse: new Set(), ended: createEndedRuns() };
  return {
    run: async (ask) => {
      if (ask.signal.aborted) throw new DuckmirrorError("INTERRUPTED");
      const { runs, left } = desk.ended.knownOf(ask.syncId, ask.streams);
      if (left.length === 0) return runs;
      if (ask.leftMs !== null && ask.leftMs <= 0) throw new DuckmirrorError("DURATION_SPENT");
      const { dataDir } = ask.profile;
      return [...runs, await inDirectory(desk, dataDir, () => openSession(desk, ask))];
    },
    alone: (dir, signal, work) => inDirectory(desk, dir, () => desk.places.take(signal, work)),
  };
};
