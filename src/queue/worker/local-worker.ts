// The worker without Redis: the same jobs, sessions and triggers in one process, scheduled by node-cron. Queued work
// is lost with the process; mirrored rows are not.

import { createSessions, type SessionDeps } from "../../../jobs/session.ts";
import { endsWithin } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { noTracer, type Tracer } from "../../core/tracing.ts";
import { CHECK_MS, createLocalAlerts } from "../alerts/local.ts";
import { createLocalDeliveries, type DeliveryDeps } from "../deliveries/local.ts";
import { every } from "../requests/keyed-tasks.ts";
import { type RunningWorker, tracedTriggers } from "../requests/sync-requests.ts";
import { type Scheduler, schedulesOf, startSchedules } from "../schedules/local.ts";
import { createCarrier, createKnownSyncs, createLocalTriggers, createOrder } from "../syncs/local/local-triggers.ts";
import { createVerifications, type Verify, withVerifications } from "../verifications/local.ts";
import { createProgressBook } from "./run-engine.ts";

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

/** Starts the worker. */
export const startLocalWorker = (deps: LocalWorkerDeps): RunningWorker => {
  const { profiles, clock, random, log, tracer = noTracer, verify, open } = deps;
  const schedules = schedulesOf(profiles);
  const book = createProgressBook(deps.run, clock);
  const known = createKnownSyncs(clock);
  const sessions = createSessions({
    clock,
    run: book.run,
    emit: (event, run) => {
      book.note(event, run.runId);
      deps.emit(event, run);
    },
    most: Math.max(1, profiles[0]?.maxSyncs ?? 1),
    onStart: async (syncId) => {
      const entry = known.get(syncId);
      if (entry !== undefined) entry.startedAt ??= clock.now();
    },
  });
  const verifications = verify === undefined ? null : createVerifications({ ...deps, sessions, verify });
  const stop = new AbortController();
  const stopping = stop.signal;
  const deliveries = createLocalDeliveries({ clock, log, ...(open === undefined ? {} : { open }) });
  const alerts = createLocalAlerts({ clock, random, log });
  const complain = (error: unknown) => log("error", detailOf(error));
  void every(CHECK_MS, () => profiles.forEach(alerts.ask), { clock, stopping, onError: complain });
  const carrier = createCarrier({ clock, sessions, log, emit: deps.emit, tracer, deliveries, alerts });
  const order = createOrder(carrier, { clock, stopping });
  const triggers = tracedTriggers(createLocalTriggers({ ...deps, known, order, book, stopping }), tracer);
  const endSchedules = startSchedules(schedules, { ...deps, triggers, stopping });

  return {
    triggers: withVerifications(triggers, verifications),
    stop: async () => {
      stop.abort();
      endSchedules();
      for (const { cancel } of known.all()) cancel.abort(new DuckmirrorError("INTERRUPTED"));
      const ends = [order.allEnded(), verifications?.stop(), deliveries.stop(), alerts.stop()];
      await endsWithin(Promise.all(ends), STOP_MS, clock);
    },
  };
};
