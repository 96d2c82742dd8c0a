// The worker without Redis: the same jobs, sessions and triggers in one process, scheduled by node-cron. Queued work
// is lost with the process; mirrored rows are not.
import { schedule as startCron } from "node-cron";
import { problemOf } from "../../../jobs/family.ts";
import { createSessions, type SessionDeps } from "../../../jobs/session.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import type { Schedule } from "../../core/config/schedules.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { levelOf } from "../../core/report/severity.ts";
import { noTracer, type Tracer } from "../../core/tracing.ts";
import { startLocalAlerts } from "../alerting/local-alerts.ts";
import {
  type AskedSync,
  askDigest,
  endedState,
  joins,
  KEY_LASTS_S,
  laterOf,
  payloadOf,
  profileOf,
  type RunningWorker,
  type Started,
  type SyncAsk,
  type Triggers,
} from "../asks.ts";
import { schedulesOf } from "../bullmq/schedules.ts";
import type { DeliveryDeps } from "../delivering/delivery.ts";
import { createLocalDeliveries } from "../delivering/local-deliveries.ts";
import { createProgressBook } from "../progress-book.ts";
import { startScheduled } from "../scheduled-start.ts";
import { findStored } from "../stored-syncs.ts";
import { LATE, shownState, step } from "../sync-life.ts";
import { tracedTriggers } from "../traced-triggers.ts";
import type { Verify } from "../verifying/run-verification.ts";
import { createVerifications, withVerifications } from "../verifying/verifications.ts";
import { createCarrier } from "./carry-out.ts";
import { type Entry, hasEnded, timeLeft } from "./entry.ts";

/** Calls `tick` at the times of a schedule until it is stopped. */
export type Scheduler = (schedule: Pick<Schedule, "cron" | "timeZone">, tick: () => void) => { stop(): void };

export interface LocalWorkerDeps {
  readonly profiles: readonly Config[];
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Writes to the log. */
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  readonly run: SessionDeps["run"];
  /** Runs verifications; unset: this worker runs none. */
  readonly verify?: Verify;
  readonly emit: SessionDeps["emit"];
  readonly tracer?: Tracer;
  /** Opens destinations; unset: by kind. */
  readonly open?: DeliveryDeps["open"];
  /** Unset: node-cron. */
  readonly scheduler?: Scheduler;
}

const STOP_MS = 9_000;
/** Number of ended syncs kept in memory; older ones are read from the mirror. */
const REMEMBERED = 1_000;

const nodeCron: Scheduler = ({ cron, timeZone }, tick) => {
  const task = startCron(cron, tick, { timezone: timeZone, suppressMissedWarning: true });
  return { stop: () => void task.destroy() };
};

/** Starts the worker. Throws CONFIG_INVALID for a schedule that matches no time. */
export const startLocalWorker = (deps: LocalWorkerDeps): RunningWorker => {
  const { profiles, clock, random, log, scheduler = nodeCron, tracer = noTracer } = deps;
  const schedules = schedulesOf(profiles);
  const book = createProgressBook(deps.run, clock);
  const sessions = createSessions({
    clock,
    run: book.run,
    emit: (event, run) => {
      book.note(event, run.runId);
      deps.emit(event, run);
    },
    most: Math.max(1, profiles[0]?.maxSyncs ?? 1),
    onStart: async (syncId) => {
      const entry = entries.get(syncId);
      if (entry !== undefined) entry.startedAt ??= clock.now();
    },
  });
  const { verify } = deps;
  const verifications = verify === undefined ? null : createVerifications({ ...deps, sessions, verify });
  const entries = new Map<string, Entry>();
  const asked = new Map<string, { readonly runId: string; readonly digest: string; readonly until: number }>();
  /** The last sync of each profile; the next one waits for it. */
  const tails = new Map<string, Promise<void>>();
  const stopping = new AbortController();

  const { open } = deps;
  const deliveries = createLocalDeliveries({ clock, log, ...(open === undefined ? {} : { open }) });
  const alerts = startLocalAlerts(profiles, { clock, random, log });
  const carrier = { clock, sessions, log, emit: deps.emit, tracer, deliveries, alerts };
  const { carryOut, endWith } = createCarrier(carrier);

  /** A sync that still waits at its deadline never starts; a running one is ended by its session. */
  const watchDeadline = async (entry: Entry): Promise<void> => {
    while (entry.dueAt !== null && entry.life === "waiting" && !stopping.signal.aborted) {
      if (entry.cancel.signal.aborted) return;
      const leftMs = entry.dueAt - clock.now();
      if (leftMs <= 0) return endWith(entry, LATE);
      await clock.sleep(leftMs, stopping.signal).catch(() => undefined);
    }
  };

  const forgetOldest = (): void => {
    const ended = [...entries].filter(([, entry]) => hasEnded(entry)).map(([id]) => id);
    for (const id of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) entries.delete(id);
    for (const [key, { until }] of asked) if (until <= clock.now()) asked.delete(key);
  };

  const start = async (ask: SyncAsk): Promise<Started> => {
    const config = profileOf(profiles, ask.profile);
    const sync = payloadOf(ask, config, clock.now(), random);
    forgetOldest();
    const key = ask.idempotencyKey === null ? null : JSON.stringify([config.profile, ask.idempotencyKey]);
    const earlier = key === null ? undefined : asked.get(key);
    if (earlier !== undefined && earlier.digest !== askDigest(ask)) {
      throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: earlier.runId });
    }
    if (earlier !== undefined) return { runId: earlier.runId, joined: true };
    const joined = [...entries.values()].find(
      (entry) =>
        !hasEnded(entry) &&
        entry.sync.profile === sync.profile &&
        !entry.cancel.signal.aborted &&
        joins(ask, sync, { ...entry.sync, started: entry.life !== "waiting" }),
    );
    const runId = joined?.sync.syncId ?? sync.syncId;
    if (key !== null) asked.set(key, { runId, digest: askDigest(ask), until: clock.now() + KEY_LASTS_S * 1000 });
    const dueAt = typeof ask.timeoutMs === "number" ? clock.now() + ask.timeoutMs : null;
    if (joined?.life === "waiting") joined.dueAt = laterOf(joined.dueAt, dueAt);
    if (joined !== undefined) return { runId, joined: true };
    if (stopping.signal.aborted) throw new DuckmirrorError("INTERRUPTED");
    const life = step("asked", "queue");
    const entry: Entry = { sync, config, cancel: new AbortController(), life, dueAt, startedAt: null, outcome: null };
    entries.set(runId, entry);
    const before = tails.get(config.profile) ?? Promise.resolve();
    // A fault of duckmirror ends this sync, but not later ones.
    const mine = before.then(() => carryOut(entry)).catch((error: unknown) => endWith(entry, problemOf(error)));
    void watchDeadline(entry);
    tails.set(config.profile, mine);
    return { runId, joined: false };
  };

  const described = (entry: Entry): AskedSync => {
    const { sync, life, outcome, cancel } = entry;
    const base = { runId: sync.syncId, profile: sync.profile, askedAt: sync.askedAt };
    if (outcome === null) {
      const shown = life === "waiting" && cancel.signal.aborted ? step(life, "cancel") : life;
      const { leftMs } = timeLeft(entry, clock.now());
      const dueAt = leftMs === null ? null : clock.now() + leftMs;
      const progress = book.all().get(sync.syncId) ?? null;
      return { ...base, state: shownState(shown), report: null, error: null, dueAt, progress };
    }
    const { report, problem } = outcome;
    return { ...base, state: endedState(report.status), report, error: problem };
  };

  const tick = async (profile: string, { streams, full, jitterMs }: Schedule): Promise<void> => {
    await clock.sleep(Math.floor(random() * jitterMs), stopping.signal).catch(() => undefined);
    if (stopping.signal.aborted) return;
    const warn = (text: string) => log("warn", text);
    const ask = { profile, streams, full, idempotencyKey: null };
    await startScheduled(ask, profileOf(profiles, profile), { triggers, clock, warn });
  };
  const tasks = schedules.map(({ profile, schedule }) =>
    scheduler(schedule, () => {
      tick(profile, schedule).catch((error: unknown) =>
        log(levelOf(error), `schedule of ${profile}: ${detailOf(error)}`),
      );
    }),
  );

  const untraced: Triggers = {
    start,
    find: async (runId) => {
      const entry = entries.get(runId);
      return entry === undefined ? findStored(profiles, runId) : described(entry);
    },
    cancel: async (runId) => {
      const entry = entries.get(runId);
      if (entry === undefined || hasEnded(entry)) return false;
      entry.cancel.abort(new DuckmirrorError("INTERRUPTED"));
      return true;
    },
    active: async () => [...entries.values()].filter((entry) => !hasEnded(entry)).map(described),
  };
  const triggers = tracedTriggers(untraced, tracer);

  return {
    triggers: withVerifications(triggers, verifications),
    stop: async () => {
      stopping.abort();
      for (const task of tasks) task.stop();
      for (const { cancel } of entries.values()) cancel.abort(new DuckmirrorError("INTERRUPTED"));
      const done = new AbortController();
      const deadline = clock.sleep(STOP_MS, done.signal).catch(() => undefined);
      const ends = [...tails.values(), verifications?.stop(), deliveries.stop(), alerts.stop()];
      await Promise.race([Promise.all(ends), deadline]);
      done.abort();
    },
  };
};
