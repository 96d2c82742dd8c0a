// Requests a sync from a worker and waits for its end, for `trigger`; requests it again if the worker or Redis lost it. Each request is noted
// in the audit trail.

import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import type { RequestedSync, Started, TriggerRequest } from "../../core/report/triggers.ts";
import { type ProfileStart, profileOf, type Triggers, tracedTriggers } from "../../queue/requests/sync-requests.ts";
import { audited } from "../audited.ts";
import type { CommandContext, Profiles } from "../command.ts";
import type { WorkerConnection } from "./worker-connection.ts";

// Requests for syncs with their lines in the audit trail of their profiles. Over HTTP, the worker's server writes the lines.

/** Requests the sync of a profile. Throws PROFILE_UNKNOWN, AUDIT_UNWRITABLE and the errors of the triggers. */
export type Start = (ask: TriggerRequest) => Promise<ProfileStart>;

export const recordedStart = async (
  worker: WorkerConnection,
  profiles: Profiles,
  context: CommandContext,
): Promise<Start> => {
  const tracer = await context.tracer(profiles[0]);
  const triggers = tracedTriggers(worker.triggers, tracer);
  return async (ask) => {
    if (worker.startAll !== null) return { ...(await triggers.start(ask)), profile: ask.profile };
    const config = profileOf(profiles, ask.profile);
    const action = { action: "sync", subject: ask.streams.join(",") || null } as const;
    const start = () => triggers.start({ ...ask, profile: config.profile });
    const started = await audited(config, context, action, start, ({ runId }) => ({ runId }));
    return { ...started, profile: config.profile };
  };
};

const POLL_MS = 500;
/** Time for which the worker or Redis may be away while waiting for the end of a sync, ms. */
const AWAY_MS = 60_000;
/** Time for a sync to end requests in flight, publish and report after its deadline, ms. */
const ENDING_MS = 60_000;

/** Dependencies of waiting; replaced in tests. */
export interface Waiting {
  readonly triggers: Pick<Triggers, "find" | "start">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number | null;
  /** Called once when the sync waits because of a pause. */
  readonly onPaused?: (sync: RequestedSync) => Promise<void>;
  /** Called when nobody knew the sync `lost` any more and it was asked for again. */
  readonly onAgain?: (lost: string, again: Started) => void;
}

/**
 * Waits until the sync has ended, at its deadline at the latest. If no process knows it any more (Redis was emptied,
 * a worker without Redis restarted), requests it again. Throws WAIT_SPENT when it continues after the deadline
 * because another caller gave it more time, or did not end in time; INTERRUPTED; and the error that kept the worker
 * away for a minute.
 */
export const untilEnded = async (runId: string, ask: TriggerRequest, waiting: Waiting): Promise<RequestedSync> => {
  const { triggers, clock, signal, timeoutMs } = waiting;
  let onPaused = waiting.onPaused;
  const deadline = timeoutMs === null ? Number.POSITIVE_INFINITY : clock.now() + timeoutMs;
  let run = runId;
  let seenAt = clock.now();
  /** The sync ends by itself soon after our deadline. */
  let endsInTime = false;
  for (;;) {
    try {
      const sync = await triggers.find(run);
      if (sync !== null && sync.state !== "queued" && sync.state !== "running") return sync;
      if (sync?.paused === true) {
        const report = onPaused;
        onPaused = undefined;
        await report?.(sync);
      }
      if (sync === null) {
        // Another request than the first one, because it has less time left.
        const left =
          timeoutMs === null
            ? {}
            : { timeoutMs: Math.max(1, deadline - clock.now()), idempotencyKey: `${ask.idempotencyKey} again ${run}` };
        const again = await triggers.start({ ...ask, ...left });
        waiting.onAgain?.(run, again);
        run = again.runId;
      }
      const dueAt = sync?.dueAt ?? null;
      endsInTime = dueAt !== null && dueAt <= deadline + POLL_MS;
      seenAt = clock.now();
    } catch (error) {
      const isAway = isCode(error, "REDIS_UNAVAILABLE") || isCode(error, "WORKER_UNREACHABLE");
      if (!isAway || clock.now() - seenAt > AWAY_MS) throw error;
    }
    const until = endsInTime ? deadline + ENDING_MS : deadline;
    if (clock.now() >= until) throw new DuckmirrorError("WAIT_SPENT", { run });
    await clock.sleep(Math.min(POLL_MS, Math.max(0, until - clock.now())), signal);
  }
};
