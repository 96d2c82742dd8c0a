// Carries out one sync of the local worker: runs its streams, publishes, exports.
import { exportAll } from "../../../../jobs/export.ts";
import { type EndedSync, outcomeOf, publishJob, runResultOf, type SyncOutcome } from "../../../../jobs/publish.ts";
import type { createSessions, SessionDeps } from "../../../../jobs/session.ts";
import { whenFree } from "../../../core/async/when-free.ts";
import type { Clock } from "../../../core/clock.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { detailOf, isCode } from "../../../core/errors.ts";
import { type Problem, problemOf, withCode } from "../../../core/report/problem.ts";
import { endLine, levelOf } from "../../../core/report/severity.ts";
import { inSpan, type Tracer } from "../../../core/tracing.ts";
import type { LocalAlerts } from "../../alerts/local.ts";
import type { LocalDeliveries } from "../../deliveries/local.ts";
import { endEvent, step } from "../sync-life.ts";
import { type Entry, hasEnded, timeLeft } from "./known-syncs.ts";

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
  readonly deliveries: Pick<LocalDeliveries, "ask">;
  readonly alerts: Pick<LocalAlerts, "ask">;
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

const endAs = (entry: Entry, outcome: SyncOutcome): void => {
  entry.outcome = outcome;
  entry.life = step(entry.life, endEvent(outcome));
};

export const createCarrier = (deps: CarrierDeps): Carrier => ({
  carryOut: async (entry) => {
    const { sync, config, cancel } = entry;
    if (hasEnded(entry)) return;
    entry.life = step(entry.life, "start");
    const outcome = await publish(entry, await runStreams(entry, deps), deps);
    endAs(entry, outcome);
    const { level, text } = endLine(sync.profile, outcome);
    deps.log(level, text);
    if (!cancel.signal.aborted && config.exportFormats.length > 0) await exportFormats(entry, deps);
  },
  endWith: (entry, problem) => {
    if (hasEnded(entry)) return;
    endAs(entry, unpublished(entry, { ...entry.sync, results: [], problem }, deps));
  },
});
