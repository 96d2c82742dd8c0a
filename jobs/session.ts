// Sessions: jobs of one sync that are under way in this process share ONE engine run, because credits are planned across
// streams: the most valuable requests first, whatever stream they belong to. The first job to come starts the run for all
// that is open of the sync; every job gets its streams' part.
import { setMaxListeners } from "node:events";
import { STREAM_NAMES, type StreamName } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressEvent } from "../src/core/progress-events.ts";
import type { SyncResult } from "../src/sync/run/run-sync.ts";
import type { JobContext } from "./engine.ts";
import type { SyncRequest } from "./sync.ts";

/** What one job brings to the run of its sync. */
export interface SessionAsk {
  /** Id of the sync; the run gets it, or, when a run has it already, `<id>-2` and so on. */
  readonly syncId: string;
  /** Settings of the organization. */
  readonly profile: Config;
  /** Streams of this job. */
  readonly streams: readonly StreamName[];
  /** Streams of the whole sync that are still open, asked for when the run starts: one run does them all. */
  readonly open: () => Promise<readonly StreamName[]>;
  readonly full: boolean;
  /** The streams were named by whoever asked, not taken from the configuration. */
  readonly named: boolean;
  /** Aborting it leaves the run; the last one to leave ends it, cleanly. */
  readonly signal: AbortSignal;
  /** W3C `traceparent` of whoever asked. */
  readonly traceparent?: string | undefined;
}

export interface Sessions {
  /**
   * Runs the streams together with all that is open of the sync. Answers with the runs that say how they ended, oldest
   * first; the reports hold only this job's streams. Throws WRITER_BUSY while another sync of the same data directory
   * runs, INTERRUPTED when nothing was run any more, and whatever the run throws.
   */
  join(ask: SessionAsk): Promise<readonly SyncResult[]>;
  /**
   * Does something else with a data directory, never while a sync of it runs. Throws WRITER_BUSY while one does or
   * something else is being done, INTERRUPTED when the signal came first, and what `work` throws.
   */
  alone<T>(dir: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Resolves when no run is under way. */
  idle(): Promise<void>;
}

export interface SessionDeps {
  readonly clock: Clock;
  /** Runs the engine. */
  readonly run: (
    profile: Config,
    request: SyncRequest,
    context: Required<Pick<JobContext, "signal" | "hardSignal" | "emit">>,
  ) => Promise<SyncResult>;
  /** Hears what runs tell. */
  readonly emit: (event: ProgressEvent, run: { readonly runId: string; readonly profile: string }) => void;
  /** Most runs at once. */
  readonly most: number;
  /** How long what is in flight may take after all parts have left, ms. */
  readonly graceMs?: number;
  /** Awaited before the engine starts: nobody may join the sync from then on. A failure ends the run before it starts. */
  readonly onStart?: (syncId: string) => Promise<void>;
  /** Awaited when a run has ended, so that jobs of the sync in other processes learn how. Throws nothing. */
  readonly onEnd?: (syncId: string, result: SyncResult) => Promise<void>;
}

const GRACE_MS = 6_000;
/** Syncs whose results are remembered for jobs that are delivered again. */
const REMEMBERED = 200;

interface Session {
  readonly syncId: string;
  readonly signals: AbortSignal[];
  /** All parts have left. */
  readonly over: AbortController;
  /** Streams of its run; null until the run starts. */
  covered: readonly StreamName[] | null;
}

/** The report with these streams only. */
const partOf = ({ report, error }: SyncResult, streams: readonly string[]): SyncResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.includes(stream)) },
  error,
});

/** Whether this run says how the stream ended. One that Redis broke off says nothing. */
const settlesStream = ({ report, error }: SyncResult, name: string): boolean =>
  error?.code !== "REDIS_UNAVAILABLE" &&
  report.streams.some(({ stream, status }) => stream === name && status !== "interrupted");

/** Lets at most `most` in at once, in the order they came; waiting ends with the signal. */
const createGate = (most: number) => {
  let inside = 0;
  let waiting: (() => void)[] = [];
  return async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    while (inside >= most && !signal.aborted) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        const leave = () => {
          waiting = waiting.filter((each) => each !== resolve);
          resolve();
        };
        signal.addEventListener("abort", leave, { once: true });
      });
    }
    if (signal.aborted) throw new DuckmirrorError("INTERRUPTED");
    inside += 1;
    try {
      return await work();
    } finally {
      inside -= 1;
      waiting.shift()?.();
    }
  };
};

export const createSessions = (deps: SessionDeps): Sessions => {
  const { clock, graceMs = GRACE_MS } = deps;
  const gate = createGate(deps.most);
  /** By data directory: two runs never share one. */
  const underWay = new Map<string, { readonly session: Session; readonly result: Promise<SyncResult> }>();
  /** Data directories that something else is done with. */
  const apart = new Set<string>();
  const ended = new Map<string, SyncResult[]>();

  const remember = (syncId: string, result: SyncResult): void => {
    ended.set(syncId, [...(ended.get(syncId) ?? []), result]);
    for (const oldest of [...ended.keys()].slice(0, Math.max(0, ended.size - REMEMBERED))) ended.delete(oldest);
  };
  /** Runs of this sync that say something of these streams, and the streams that none of them settles. */
  const knownOf = (syncId: string, streams: readonly StreamName[]) => {
    const runs = (ended.get(syncId) ?? []).map((result) => partOf(result, streams));
    return { runs, left: streams.filter((stream) => !runs.some((run) => settlesStream(run, stream))) };
  };

  /** Aborts a grace after `over`, unless the run has ended by then. */
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

  const start = async (session: Session, ask: SessionAsk): Promise<SyncResult> => {
    const { over, syncId } = session;
    const { profile, full, named, traceparent } = ask;
    const open = await ask.open();
    session.covered = STREAM_NAMES.filter((name) => open.includes(name) || ask.streams.includes(name));
    await deps.onStart?.(syncId);
    if (over.signal.aborted) throw new DuckmirrorError("INTERRUPTED");
    const ran = new AbortController();
    const request: SyncRequest = {
      streams: session.covered,
      named,
      full,
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

  /** A session of its own, with its first part in it. */
  const open = (ask: SessionAsk): Promise<SyncResult> => {
    const { syncId, profile } = ask;
    const dir = profile.dataDir;
    const session: Session = { syncId, signals: [], over: new AbortController(), covered: null };
    setMaxListeners(0, session.over.signal);
    enter(session, ask.signal);
    const result = gate(session.over.signal, () => start(session, ask)).finally(() => underWay.delete(dir));
    underWay.set(dir, { session, result });
    return result;
  };

  const join = async (ask: SessionAsk): Promise<readonly SyncResult[]> => {
    const { syncId, profile, signal, streams } = ask;
    const dir = profile.dataDir;
    for (;;) {
      if (signal.aborted) throw new DuckmirrorError("INTERRUPTED");
      const { runs, left } = knownOf(syncId, streams);
      if (left.length === 0) return runs;
      if (apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
      const there = underWay.get(dir);
      if (there === undefined) return [...runs, partOf(await open({ ...ask, streams: left }), streams)];
      const { session, result } = there;
      if (session.syncId !== syncId) throw new DuckmirrorError("WRITER_BUSY", { dir });
      const takesAll = session.covered === null || left.every((stream) => session.covered?.includes(stream));
      if (takesAll && !session.over.signal.aborted) {
        enter(session, signal);
        return [...runs, partOf(await result, streams)];
      }
      // It is ending, or does not do these streams: they are run after it.
      await result.catch(() => undefined);
    }
  };

  const alone = async <T>(dir: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (underWay.has(dir) || apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
    apart.add(dir);
    try {
      return await gate(signal, work);
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
