// Requests for syncs in a worker without Redis: starts, joins, finds and cancels them within the process.

import { exportAll } from "../../../../jobs/export.ts";
import { type EndedSync, outcomeOf, publishJob, runResultOf, type SyncOutcome } from "../../../../jobs/publish.ts";
import type { createSessions, SessionDeps } from "../../../../jobs/session.ts";
import { whenFree } from "../../../core/async/waiting.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { DuckmirrorError, detailOf, isCode } from "../../../core/errors.ts";
import { endLine, levelOf, type Problem, problemOf, withCode } from "../../../core/report/problem.ts";
import type { SyncProgress } from "../../../core/report/sync-progress.ts";
import type { RequestedSync, TriggerRequest } from "../../../core/report/triggers.ts";
import { inSpan, type Tracer } from "../../../core/tracing.ts";
import type { SyncPayload } from "../../requests/job-payloads.ts";
import type { ProfileTasks } from "../../requests/keyed-tasks.ts";
import { findStored } from "../../requests/stored-failures.ts";
import {
  endedState,
  KEY_LASTS_S,
  laterDeadline,
  mayJoin,
  payloadOf,
  profileOf,
  requestDigest,
  type Triggers,
} from "../../requests/sync-requests.ts";
import { LATE, timeLeftOf } from "../sync-life.ts";

// Carries out one sync of the local worker: runs its streams, publishes, exports.

/** Delay before trying again while another process writes to the mirror, ms. */
const BUSY_MS = 2_000;

/** Code and message of a fault. */
const describe = (error: unknown): string => {
  const { code, message } = withCode(error);
  return `${code}: ${message}`;
};

const isInterruption = (error: unknown) => isCode(error, "INTERRUPTED");

export interface Carrier {
  /** Runs the sync to its end, which the entry then holds. Does nothing if it has ended. */
  carryOut(entry: Entry): Promise<void>;
  /** Ends a sync whose run reported nothing, or that had no run. */
  endWith(entry: Entry, problem: Problem): void;
}

interface CarrierDeps {
  readonly clock: Clock;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  readonly emit: SessionDeps["emit"];
  readonly tracer: Tracer;
  readonly deliveries: Pick<ProfileTasks, "ask">;
  readonly alerts: Pick<ProfileTasks, "ask">;
}

const free = ({ cancel }: Entry, { clock }: CarrierDeps) => ({ clock, busyMs: BUSY_MS, signal: cancel.signal });

/** Does the work in a span of the sync's trace. */
const inJob = <T>({ sync }: Entry, job: string, work: () => Promise<T>, { tracer }: CarrierDeps): Promise<T> => {
  const attributes = { "duckmirror.profile": sync.profile, "duckmirror.run.id": sync.syncId };
  return inSpan(tracer, `job ${job}`, work, { traceparent: sync.traceparent, attributes });
};

const unpublished = ({ config }: Entry, ended: EndedSync, { clock }: CarrierDeps): SyncOutcome =>
  outcomeOf(ended, { snapshot: snapshotPath(config.dataDir) }, clock.now());

/** Runs the streams to their end. */
const runStreams = async (entry: Entry, deps: CarrierDeps): Promise<EndedSync> => {
  const { sync, config, cancel } = entry;
  const { clock, sessions, log } = deps;
  const readLeftMs = async () => timeLeft(entry, clock.now()).leftMs;
  const ask = { ...sync, profile: config, readLeftMs, signal: cancel.signal };
  const run = () => sessions.run({ ...ask, ...timeLeft(entry, clock.now()) });
  try {
    return { ...sync, results: (await whenFree(run, free(entry, deps))).map(runResultOf), problem: null };
  } catch (error) {
    const isFault = !isInterruption(error) && !isCode(error, "DURATION_SPENT");
    if (isFault) log(levelOf(error), `${sync.syncId}: ${describe(error)}`);
    return { ...sync, results: [], problem: problemOf(error) };
  }
};

/** Publishes what the run brought, which is the sync's outcome. */
const publish = async (entry: Entry, ended: EndedSync, deps: CarrierDeps): Promise<SyncOutcome> => {
  const { sync, config, cancel } = entry;
  const { clock, deliveries, alerts, log } = deps;
  try {
    const work = () => whenFree(() => publishJob(config, ended, { clock, signal: cancel.signal }), free(entry, deps));
    const outcome = await inJob(entry, "publish", work, deps);
    deliveries.ask(config);
    alerts.ask(config);
    return outcome;
  } catch (error) {
    log(levelOf(error), `${sync.syncId}: ${describe(error)}`);
    const outcome = unpublished(entry, ended, deps);
    return isInterruption(error) ? outcome : { ...outcome, problem: problemOf(error) };
  }
};

/** Brings the exports up to date. Their failure is logged, and is none of the sync. */
const exportFormats = async (entry: Entry, deps: CarrierDeps): Promise<void> => {
  const { sync, config, cancel } = entry;
  const write = async () => {
    const startedAt = performance.now();
    const formats = await whenFree(() => exportAll(config, cancel.signal), free(entry, deps));
    const run = { runId: sync.syncId, profile: sync.profile };
    deps.emit({ kind: "exported", formats, ms: performance.now() - startedAt }, run);
  };
  await inJob(entry, "export", write, deps).catch((error: unknown) => {
    if (!isInterruption(error) && !cancel.signal.aborted) deps.log(levelOf(error), `export: ${detailOf(error)}`);
  });
};

export const createCarrier = (deps: CarrierDeps): Carrier => ({
  carryOut: async (entry) => {
    const { sync, config, cancel } = entry;
    if (hasEnded(entry)) return;
    entry.isStarted = true;
    const outcome = await publish(entry, await runStreams(entry, deps), deps);
    entry.outcome = outcome;
    const { level, text } = endLine(sync.profile, outcome);
    deps.log(level, text);
    if (!cancel.signal.aborted && config.exportFormats.length > 0) await exportFormats(entry, deps);
  },
  endWith: (entry, problem) => {
    entry.outcome ??= unpublished(entry, { ...entry.sync, results: [], problem }, deps);
  },
});

// Syncs that the local worker was asked for: those under way, the last ended ones, and the keys of their callers.

// A sync that the local worker was asked for, from the ask to its end.

export interface Entry {
  readonly sync: SyncPayload;
  readonly config: Config;
  readonly cancel: AbortController;
  isStarted: boolean;
  /** Deadline set by its callers, ms since the epoch; null: none. */
  dueAt: number | null;
  /** Start of its run, ms since the epoch. */
  startedAt: number | null;
  outcome: SyncOutcome | null;
}

export const hasEnded = ({ outcome }: Entry): boolean => outcome !== null;

/** What is left of its time at `now`, by its deadline and the profile's `sync_timeout`. */
export const timeLeft = ({ config, startedAt, dueAt }: Entry, now: number) =>
  timeLeftOf({ now, startedAt, dueAt }, config.syncTimeoutMs);

/** Number of ended syncs kept in memory; older ones are read from the mirror. */
const REMEMBERED = 1_000;

const keyOf = ({ idempotencyKey }: TriggerRequest, profile: string | null): string | null =>
  idempotencyKey === null ? null : JSON.stringify([profile, idempotencyKey]);

export const createKnownSyncs = ({ now }: Pick<Clock, "now">) => {
  const entries = new Map<string, Entry>();
  const asked = new Map<string, { readonly runId: string; readonly digest: string; readonly until: number }>();
  const all = (): readonly Entry[] => [...entries.values()];
  return {
    all,
    get: (runId: string): Entry | undefined => entries.get(runId),
    add: (entry: Entry): void => void entries.set(entry.sync.syncId, entry),
    /** Drops the oldest ended syncs, and keys that lasted long enough. */
    dropOld: (): void => {
      const ended = [...entries].filter(([, entry]) => hasEnded(entry)).map(([id]) => id);
      for (const id of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) entries.delete(id);
      for (const [key, { until }] of asked) if (until <= now()) asked.delete(key);
    },
    /**
     * The run that an earlier ask with this key got; null: none. Throws IDEMPOTENCY_REUSED if it asked for something
     * else.
     */
    runOfKey: (ask: TriggerRequest, profile: string | null): string | null => {
      const key = keyOf(ask, profile);
      const earlier = key === null ? undefined : asked.get(key);
      if (earlier === undefined) return null;
      if (earlier.digest !== requestDigest(ask))
        throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: earlier.runId });
      return earlier.runId;
    },
    keepKey: (ask: TriggerRequest, profile: string | null, runId: string): void => {
      const key = keyOf(ask, profile);
      if (key !== null) asked.set(key, { runId, digest: requestDigest(ask), until: now() + KEY_LASTS_S * 1000 });
    },
    /** A sync under way that does what is asked for. */
    joinedBy: (ask: TriggerRequest, sync: SyncPayload): Entry | undefined =>
      all().find(
        (entry) =>
          !hasEnded(entry) &&
          entry.sync.profile === sync.profile &&
          !entry.cancel.signal.aborted &&
          mayJoin(ask, sync, { ...entry.sync, started: entry.isStarted }),
      ),
  };
};

export type KnownSyncs = ReturnType<typeof createKnownSyncs>;

// Runs the syncs of a profile one after another, and ends one whose deadline passes while it waits.

export const createOrder = (
  { carryOut, endWith }: Carrier,
  { clock, stopping }: { readonly clock: Clock; readonly stopping: AbortSignal },
) => {
  /** The last sync of each profile; the next one waits for it. */
  const tails = new Map<string | null, Promise<void>>();

  /** A sync that still waits at its deadline never starts; a running one is ended by its session. */
  const watchDeadline = async (entry: Entry): Promise<void> => {
    while (entry.dueAt !== null && !entry.isStarted && entry.outcome === null && !stopping.aborted) {
      if (entry.cancel.signal.aborted) return;
      const leftMs = entry.dueAt - clock.now();
      if (leftMs <= 0) return endWith(entry, LATE);
      await clock.sleep(leftMs, stopping).catch(() => undefined);
    }
  };

  return {
    add: (entry: Entry): void => {
      const { profile } = entry.config;
      const before = tails.get(profile) ?? Promise.resolve();
      // A fault of duckmirror ends this sync, but not later ones.
      const mine = before.then(() => carryOut(entry)).catch((error: unknown) => endWith(entry, problemOf(error)));
      void watchDeadline(entry);
      tails.set(profile, mine);
    },
    /** Resolves when every sync has ended. */
    allEnded: () => Promise.all(tails.values()),
  };
};

interface TriggerDeps {
  readonly profiles: readonly Config[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly known: KnownSyncs;
  readonly order: Pick<ReturnType<typeof createOrder>, "add">;
  /** Progress of the syncs that run now. */
  readonly book: { all(): ReadonlyMap<string, SyncProgress> };
  readonly stopping: AbortSignal;
}

const describeEntry = (entry: Entry, { clock, book }: Pick<TriggerDeps, "clock" | "book">): RequestedSync => {
  const { sync, isStarted, outcome, cancel } = entry;
  const base = { runId: sync.syncId, profile: sync.profile, askedAt: sync.askedAt };
  if (outcome === null) {
    const state = isStarted ? "running" : cancel.signal.aborted ? "cancelled" : "queued";
    const { leftMs } = timeLeft(entry, clock.now());
    const dueAt = leftMs === null ? null : clock.now() + leftMs;
    const progress = book.all().get(sync.syncId) ?? null;
    return { ...base, state, report: null, error: null, dueAt, progress };
  }
  const { report, problem } = outcome;
  return { ...base, state: endedState(report.status), report, error: problem };
};

export const createLocalTriggers = (deps: TriggerDeps): Triggers => {
  const { profiles, clock, random, known, order, stopping } = deps;
  const start = async (ask: TriggerRequest) => {
    const config = profileOf(profiles, ask.profile);
    const sync = payloadOf(ask, config, clock.now(), random);
    known.dropOld();
    const earlier = known.runOfKey(ask, config.profile);
    if (earlier !== null) return { runId: earlier, joined: true };
    const joined = known.joinedBy(ask, sync);
    const runId = joined?.sync.syncId ?? sync.syncId;
    known.keepKey(ask, config.profile, runId);
    const dueAt = typeof ask.timeoutMs === "number" ? clock.now() + ask.timeoutMs : null;
    if (joined?.isStarted === false) joined.dueAt = laterDeadline(joined.dueAt, dueAt);
    if (joined !== undefined) return { runId, joined: true };
    if (stopping.aborted) throw new DuckmirrorError("INTERRUPTED");
    const cancel = new AbortController();
    const entry: Entry = { sync, config, cancel, isStarted: false, dueAt, startedAt: null, outcome: null };
    known.add(entry);
    order.add(entry);
    return { runId, joined: false };
  };
  return {
    start,
    find: async (runId) => {
      const entry = known.get(runId);
      return entry === undefined ? findStored(profiles, runId) : describeEntry(entry, deps);
    },
    cancel: async (runId) => {
      const entry = known.get(runId);
      if (entry === undefined || hasEnded(entry)) return false;
      entry.cancel.abort(new DuckmirrorError("INTERRUPTED"));
      return true;
    },
    active: async () =>
      known
        .all()
        .filter((entry) => !hasEnded(entry))
        .map((entry) => describeEntry(entry, deps)),
  };
};
