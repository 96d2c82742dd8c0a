// Carries out one sync of the local worker: runs its families side by side, publishes, exports.
import { familiesOf } from "../../../jobs/families.ts";
import { type FamilyJob, type Problem, problemOf } from "../../../jobs/family.ts";
import { type FamilyEnd, mergeResults, type SyncOutcome } from "../../../jobs/merge-results.ts";
import { publishJob } from "../../../jobs/publish.ts";
import type { createSessions, SessionDeps } from "../../../jobs/session.ts";
import { whenFree } from "../../core/async/when-free.ts";
import type { Clock } from "../../core/clock.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { detailOf, isCode } from "../../core/errors.ts";
import { levelOf } from "../../core/report/severity.ts";
import { endLine } from "../../core/report/sync-end.ts";
import { inSpan, type Tracer } from "../../core/tracing.ts";
import type { LocalAlerts } from "../alerting/local-alerts.ts";
import type { LocalDeliveries } from "../delivering/local-deliveries.ts";
import { exportAll } from "../taking/processors.ts";
import { endEvent, step } from "../taking/sync-life.ts";
import { type Entry, hasEnded, timeLeft } from "./entry.ts";

/** Delay before trying again while another process writes to the mirror, ms. */
const BUSY_MS = 2_000;

/** Code and message of a fault. */
const describe = (error: unknown): string => {
  const { code, message } = problemOf(error);
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
  readonly deliveries: Pick<LocalDeliveries, "ask">;
  readonly alerts: Pick<LocalAlerts, "ask">;
}

const free = ({ cancel }: Entry, { clock }: CarrierDeps) => ({ clock, busyMs: BUSY_MS, signal: cancel.signal });

/** Does the work in a span of the sync's trace. */
const inJob = <T>({ sync }: Entry, job: string, work: () => Promise<T>, { tracer }: CarrierDeps): Promise<T> => {
  const attributes = { "duckmirror.profile": sync.profile, "duckmirror.run.id": sync.syncId };
  return inSpan(tracer, `job ${job}`, work, { traceparent: sync.traceparent, attributes });
};

const mergedEnds = ({ sync, config }: Entry, ends: readonly FamilyEnd[], { clock }: CarrierDeps) =>
  mergeResults({ ...sync, snapshot: snapshotPath(config.dataDir) }, ends, clock.now());

/** Runs a family to its end. */
const endOf = async (family: FamilyJob, entry: Entry, deps: CarrierDeps): Promise<FamilyEnd> => {
  const { sync, config, cancel } = entry;
  const { clock, sessions, log } = deps;
  const streams = family.streams.filter((stream) => sync.streams.includes(stream));
  const readLeftMs = async () => timeLeft(entry, clock.now()).leftMs;
  const ask = { ...sync, profile: config, open: async () => sync.streams, readLeftMs };
  const run = () => family.run({ ...ask, ...timeLeft(entry, clock.now()) }, { sessions, signal: cancel.signal });
  try {
    const results = await whenFree(run, free(entry, deps));
    return { streams, results, problem: null };
  } catch (error) {
    const isFault = !isInterruption(error) && !isCode(error, "DURATION_SPENT");
    if (isFault) log(levelOf(error), `${sync.syncId} ${family.family}: ${describe(error)}`);
    return { streams, results: [], problem: problemOf(error) };
  }
};

/** Publishes what the families brought, which is the sync's outcome. */
const publish = async (entry: Entry, ends: readonly FamilyEnd[], deps: CarrierDeps): Promise<SyncOutcome> => {
  const { sync, config } = entry;
  const { clock, deliveries, alerts, log } = deps;
  try {
    const work = () => whenFree(() => publishJob(config, sync, ends, { clock }), free(entry, deps));
    const outcome = await inJob(entry, "publish", work, deps);
    deliveries.ask(config);
    alerts.ask(config);
    return outcome;
  } catch (error) {
    log(levelOf(error), `${sync.syncId}: ${describe(error)}`);
    const merged = mergedEnds(entry, ends, deps);
    return isInterruption(error) ? merged : { ...merged, problem: problemOf(error) };
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

const endAs = (entry: Entry, outcome: SyncOutcome): void => {
  entry.outcome = outcome;
  entry.life = step(entry.life, endEvent(outcome));
};

export const createCarrier = (deps: CarrierDeps): Carrier => ({
  carryOut: async (entry) => {
    const { sync, config, cancel } = entry;
    if (hasEnded(entry)) return;
    entry.life = step(entry.life, "start");
    const ends = await Promise.all(familiesOf(sync.streams).map((family) => endOf(family, entry, deps)));
    const outcome = await publish(entry, ends, deps);
    endAs(entry, outcome);
    const { level, text } = endLine(sync.profile, outcome);
    deps.log(level, text);
    if (!cancel.signal.aborted && config.exportFormats.length > 0) await exportFormats(entry, deps);
  },
  endWith: (entry, problem) => {
    if (hasEnded(entry)) return;
    endAs(entry, mergedEnds(entry, [{ streams: entry.sync.streams, results: [], problem }], deps));
  },
});
