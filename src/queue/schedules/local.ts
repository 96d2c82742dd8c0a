// Starts syncs at the times of the setting `schedule`, in a worker without Redis.
import { schedule as startCron } from "node-cron";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { nextRun, parseCron } from "../../core/config/schedules/cron.ts";
import type { Schedule } from "../../core/config/schedules/schedules.ts";
import { detailOf } from "../../core/errors.ts";
import { levelOf } from "../../core/report/problem.ts";
import type { Started, TriggerRequest } from "../../core/report/triggers.ts";
import { inTrail } from "../../warehouse/audit/trail.ts";
import { keyDigest, profileOf, type Triggers } from "../requests/sync-requests.ts";

// Starts the sync of a schedule, with its lines in the audit trail of the profile.

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
export const startScheduled = (
  ask: Omit<TriggerRequest, "scheduled">,
  config: Config,
  { triggers, clock, warn }: ScheduledStart,
): Promise<Started> => {
  const subject = ask.streams.join(",") || null;
  return inTrail(
    { dataDir: config.dataDir, ...config.audit, clock, warn },
    { actor: "schedule", way: "schedule", action: "sync", subject },
    () => triggers.start({ ...ask, scheduled: true }),
    ({ runId }) => ({ runId }),
  );
};

/** Calls `tick` at the times of a schedule until it is stopped. */
export type Scheduler = (schedule: Pick<Schedule, "cron" | "timeZone">, tick: () => void) => { stop(): void };

/**
 * A check of whether a schedule was due since the last check (at first: since `start`): once, however many of its times
 * have passed. A clock that is set back begins anew. Times in ms since the epoch.
 */
export const createDueCheck = ({ cron, timeZone }: Pick<Schedule, "cron" | "timeZone">, start: number) => {
  const parsed = parseCron(cron);
  let last = start;
  return (now: number): boolean => {
    const due = nextRun(parsed, timeZone, last);
    last = now;
    return due !== null && due <= now;
  };
};

/** node-cron checks every minute, or every second, whether the schedule is due (docs/decisions/configuration.md). */
const nodeCron =
  (clock: Clock): Scheduler =>
  (schedule, tick) => {
    const isDue = createDueCheck(schedule, clock.now());
    const check = () => {
      if (isDue(clock.now())) tick();
    };
    const task = startCron(parseCron(schedule.cron).bySecond ? "* * * * * *" : "* * * * *", check, {
      timezone: "UTC",
      suppressMissedWarning: true,
    });
    return { stop: () => void task.destroy() };
  };

/** Returns a function that ends all of them. */
export const startSchedules = (
  schedules: ReturnType<typeof schedulesOf>,
  deps: {
    readonly profiles: readonly Config[];
    readonly clock: Clock;
    /** In [0, 1). */
    readonly random: () => number;
    readonly log: (level: "info" | "warn" | "error", text: string) => void;
    readonly triggers: Triggers;
    readonly stopping: AbortSignal;
    /** Unset: node-cron. */
    readonly scheduler?: Scheduler | undefined;
  },
): (() => void) => {
  const { profiles, clock, random, log, triggers, stopping, scheduler = nodeCron(clock) } = deps;
  const tick = async (profile: string, { streams, full, jitterMs }: Schedule): Promise<void> => {
    await clock.sleep(Math.floor(random() * jitterMs), stopping).catch(() => undefined);
    if (stopping.aborted) return;
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
  return () => {
    for (const task of tasks) task.stop();
  };
};
