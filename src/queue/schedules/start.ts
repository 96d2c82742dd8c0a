// Starts the sync of a schedule, with its lines in the audit trail of the profile.
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import type { Started, SyncAsk } from "../../core/report/triggers.ts";
import { openTrail, type Result } from "../../warehouse/audit/trail.ts";
import { keyDigest, type Triggers } from "../asking/asks.ts";

// The schedules of the configuration, each with an id that its content decides.

/** Schedules of all profiles. */
export const schedulesOf = (profiles: readonly Config[]) =>
  profiles.flatMap(({ profile, schedules }) =>
    schedules.map((schedule) => ({
      id: `${profile}.${keyDigest(JSON.stringify(schedule))}`,
      profile,
      schedule,
    })),
  );

export interface ScheduledStart {
  readonly triggers: Pick<Triggers, "start">;
  readonly clock: Pick<Clock, "now">;
  readonly warn: (text: string) => void;
}

/** Throws AUDIT_UNWRITABLE where the trail is required, and errors of the triggers. */
export const startScheduled = async (
  ask: Omit<SyncAsk, "scheduled">,
  config: Config,
  { triggers, clock, warn }: ScheduledStart,
): Promise<Started> => {
  const trail = openTrail({ dataDir: config.dataDir, ...config.audit, clock, warn });
  const subject = ask.streams.join(",") || null;
  const end = trail.begin({ actor: "schedule", way: "schedule", action: "sync", subject });
  // The sync is started or refused already: what cannot be written changes nothing.
  const note = (result: Result) => {
    try {
      end(result);
    } catch (error) {
      warn(detailOf(error));
    }
  };
  try {
    const started = await triggers.start({ ...ask, scheduled: true });
    note({ outcome: "ok", runId: started.runId });
    return started;
  } catch (error) {
    note({ outcome: error instanceof DuckmirrorError ? error.code : "UNEXPECTED" });
    throw error;
  }
};
