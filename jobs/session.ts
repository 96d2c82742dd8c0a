// Sessions: jobs of one sync that are under way in this process share ONE engine run, because credits are planned across
// streams: the most valuable requests first, whatever stream they belong to. A job joins and gets its streams' part.
import { setMaxListeners } from "node:events";
import type { StreamName } from "../src/catalog/streams.ts";
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
  /** Which of `expected` this is. */
  readonly part: string;
  readonly streams: readonly StreamName[];
  /** Parts the sync consists of: when all have joined, the run starts. */
  readonly expected: readonly string[];
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
   * Runs the streams together with those of the other parts; the report holds only this part's streams. Throws
   * WRITER_BUSY while another sync of the same data directory runs, INTERRUPTED when nothing was run any more, and
   * whatever the run throws.
   */
  join(ask: SessionAsk): Promise<SyncResult>;
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
  /** How long to wait for a further part after the last one joined, ms. */
  readonly gatherMs?: number;
  /** How long what is in flight may take after all parts have left, ms. */
  readonly graceMs?: number;
}

const GATHER_MS = 300;
const GRACE_MS = 6_000;
/** Syncs whose results are remembered for jobs that are delivered again. */
const REMEMBERED = 200;

interface Session {
  readonly syncId: string;
  readonly asks: SessionAsk[];
  /** Another part joined, or all have left. */
  changed: AbortController;
  /** All parts have left. */
  readonly over: AbortController;
  /** Its plan is being made: nobody can join any more. */
  started: boolean;
}

/** The report with these streams only. */
const partOf = ({ report, error }: SyncResult, streams: readonly string[]): SyncResult => ({
  report: { ...report, streams: report.streams.filter(({ stream }) => streams.includes(stream)) },
  error,
});

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
  const { clock, gatherMs = GATHER_MS, graceMs = GRACE_MS } = deps;
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
  /** The result of this sync that says how the stream ended; an interrupted stream is still open. */
  const resultOf = (syncId: string, stream: string): SyncResult | undefined =>
    ended
      .get(syncId)
      ?.findLast(({ report }) =>
        report.streams.some((each) => each.stream === stream && each.status !== "interrupted"),
      );

  /** Until every expected part is there, or none came for a while. */
  const gather = async (session: Session): Promise<void> => {
    const complete = () => {
      const expected = session.asks[0]?.expected ?? [];
      return expected.every((part) => session.asks.some((ask) => ask.part === part));
    };
    while (!complete() && !session.over.signal.aborted) {
      session.changed = new AbortController();
      const timedOut = await clock.sleep(gatherMs, session.changed.signal).then(
        () => true,
        () => false,
      );
      if (timedOut) return;
    }
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

  const start = async (session: Session, profile: Config): Promise<SyncResult> => {
    session.started = true;
    const { asks, over, syncId } = session;
    const ran = new AbortController();
    const request: SyncRequest = {
      streams: [...new Set(asks.flatMap((ask) => ask.streams))],
      named: asks.some((ask) => ask.named),
      full: asks.some((ask) => ask.full),
      maxDurationMs: null,
      allowMassDelete: false,
      runId: syncId,
      traceparent: asks.find(({ traceparent }) => traceparent !== undefined)?.traceparent,
    };
    try {
      const result = await deps.run(profile, request, {
        signal: over.signal,
        hardSignal: hardAfter(over.signal, ran.signal),
        emit: (event) => deps.emit(event, { runId: syncId, profile: profile.profile }),
      });
      remember(syncId, result);
      return result;
    } finally {
      ran.abort();
    }
  };

  const enter = (session: Session, ask: SessionAsk): void => {
    session.asks.push(ask);
    session.changed.abort();
    const leave = () => {
      if (!session.asks.every(({ signal }) => signal.aborted)) return;
      session.over.abort(new DuckmirrorError("INTERRUPTED"));
      session.changed.abort();
    };
    ask.signal.addEventListener("abort", leave, { once: true });
  };

  /** A session of its own, with its first part in it. */
  const open = (ask: SessionAsk): Promise<SyncResult> => {
    const { syncId, profile } = ask;
    const dir = profile.dataDir;
    const session: Session = {
      syncId,
      asks: [],
      changed: new AbortController(),
      over: new AbortController(),
      started: false,
    };
    setMaxListeners(0, session.over.signal);
    enter(session, ask);
    const result = gather(session)
      .then(() => gate(session.over.signal, () => start(session, profile)))
      .finally(() => underWay.delete(dir));
    underWay.set(dir, { session, result });
    return result;
  };

  const join = async (ask: SessionAsk): Promise<SyncResult> => {
    const { syncId, profile, signal } = ask;
    for (;;) {
      if (signal.aborted) throw new DuckmirrorError("INTERRUPTED");
      const known = ask.streams.map((stream) => resultOf(syncId, stream));
      const left = ask.streams.filter((_, index) => known[index] === undefined);
      const last = known.findLast((result) => result !== undefined);
      if (left.length === 0 && last !== undefined) return partOf(last, ask.streams);
      const dir = profile.dataDir;
      const there = underWay.get(dir);
      if (apart.has(dir)) throw new DuckmirrorError("WRITER_BUSY", { dir });
      if (there === undefined) return partOf(await open({ ...ask, streams: left }), left);
      if (there.session.syncId !== syncId) throw new DuckmirrorError("WRITER_BUSY", { dir });
      if (!there.session.started) {
        enter(there.session, { ...ask, streams: left });
        return partOf(await there.result, left);
      }
      // Its plan is made: what it does not cover is run after it.
      await there.result.catch(() => undefined);
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
