// Carries out one sync of the local worker: runs its families side by side, publishes, exports.
import { familiesOf } from "../../../jobs/families.ts";
import { type FamilyJob, type Problem, problemOf } from "../../../jobs/family.ts";
import { type FamilyEnd, mergeResults } from "../../../jobs/merge-results.ts";
import { publishJob } from "../../../jobs/publish.ts";
import type { createSessions, SessionDeps } from "../../../jobs/session.ts";
import type { Clock } from "../../core/clock.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { DuckmirrorError, detailOf, isCode } from "../../core/errors.ts";
import { levelOf } from "../../core/report/severity.ts";
import { inSpan, type Tracer } from "../../core/tracing.ts";
import type { LocalAlerts } from "../alerting/local-alerts.ts";
import type { LocalDeliveries } from "../delivering/local-deliveries.ts";
import { exportAll } from "../processors.ts";
import { endEvent, step } from "../sync-life.ts";
import { type Entry, hasEnded, timeLeft } from "./entry.ts";

/** Delay before trying again while another process writes to the mirror, ms. */
const BUSY_MS = 2_000;

const isInterruption = (error: unknown) => isCode(error, "INTERRUPTED");

export interface Carrier {
  /** Runs the sync to its end, which the entry then holds. Does nothing if it has ended. */
  carryOut(entry: Entry): Promise<void>;
  /** Ends a sync whose run reported nothing, or that had no run. */
  endWith(entry: Entry, problem: Problem): void;
}

export const createCarrier = (deps: {
  readonly clock: Clock;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  readonly emit: SessionDeps["emit"];
  readonly tracer: Tracer;
  readonly deliveries: Pick<LocalDeliveries, "ask">;
  readonly alerts: Pick<LocalAlerts, "ask">;
}): Carrier => {
  const { clock, sessions, log, emit, tracer, deliveries, alerts } = deps;

  /** Repeats the work while another process writes. */
  const whenFree = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isCode(error, "WRITER_BUSY")) throw error;
      }
      await clock.sleep(BUSY_MS, signal).catch(() => {
        throw new DuckmirrorError("INTERRUPTED");
      });
    }
  };

  const endOf = async (family: FamilyJob, entry: Entry): Promise<FamilyEnd> => {
    const { sync, config, cancel } = entry;
    const streams = family.streams.filter((stream) => sync.streams.includes(stream));
    const readLeftMs = async () => timeLeft(entry, clock.now()).leftMs;
    const ask = { ...sync, profile: config, open: async () => sync.streams, readLeftMs };
    const run = () => family.run({ ...ask, ...timeLeft(entry, clock.now()) }, { sessions, signal: cancel.signal });
    try {
      const results = await whenFree(run, cancel.signal);
      return { streams, results, problem: null };
    } catch (error) {
      const isFault = !isInterruption(error) && !isCode(error, "DURATION_SPENT");
      if (isFault) log(levelOf(error), `${sync.syncId} ${family.family}: ${detailOf(error)}`);
      return { streams, results: [], problem: problemOf(error) };
    }
  };

  const carryOut = async (entry: Entry): Promise<void> => {
    const { sync, config, cancel } = entry;
    if (hasEnded(entry)) return;
    const attributes = { "duckmirror.profile": sync.profile, "duckmirror.run.id": sync.syncId };
    const inJob = <T>(job: string, work: () => Promise<T>): Promise<T> =>
      inSpan(tracer, `job ${job}`, work, { traceparent: sync.traceparent, attributes });
    entry.life = step(entry.life, "start");
    const ends = await Promise.all(familiesOf(sync.streams).map((family) => endOf(family, entry)));
    try {
      const publish = () => whenFree(() => publishJob(config, sync, ends, { clock }), cancel.signal);
      entry.outcome = await inJob("publish", publish);
      deliveries.ask(config);
      alerts.ask(config);
    } catch (error) {
      log(levelOf(error), `${sync.syncId}: ${detailOf(error)}`);
      const merged = mergeResults({ ...sync, snapshot: snapshotPath(config.dataDir) }, ends, clock.now());
      entry.outcome = isInterruption(error) ? merged : { ...merged, problem: problemOf(error) };
    }
    entry.life = step(entry.life, endEvent(entry.outcome));
    if (cancel.signal.aborted || config.exportFormats.length === 0) return;
    const write = async () => {
      const startedAt = performance.now();
      const formats = await whenFree(() => exportAll(config, cancel.signal), cancel.signal);
      const run = { runId: sync.syncId, profile: sync.profile };
      emit({ kind: "exported", formats, ms: performance.now() - startedAt }, run);
    };
    await inJob("export", write).catch((error: unknown) => {
      if (!isInterruption(error) && !cancel.signal.aborted) log(levelOf(error), `export: ${detailOf(error)}`);
    });
  };

  /** Ends a sync whose run reported nothing, or that had no run. */
  const endWith = (entry: Entry, problem: Problem): void => {
    const { sync, config } = entry;
    const end: FamilyEnd = { streams: sync.streams, results: [], problem };
    if (hasEnded(entry)) return;
    entry.outcome = mergeResults({ ...sync, snapshot: snapshotPath(config.dataDir) }, [end], clock.now());
    entry.life = step(entry.life, endEvent(entry.outcome));
  };

  return { carryOut, endWith };
};
