// Starts syncs at the times of the setting `schedule` with BullMQ: one Job Scheduler per entry of a profile. Its id contains the entry's
// content, so that a changed entry is a new one. Schedulers are stored only in Redis; if Redis is emptied, they are created again from
// here.
import type { Job, JobSchedulerJson, Queue } from "bullmq";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import type { Schedule } from "../../core/config/schedules/schedules.ts";
import { isCode } from "../../core/errors.ts";
import type { Started } from "../../core/report/triggers.ts";
import { type ActiveJob, knownProfile, postpone, readPayload } from "../redis/job-consumers.ts";
import { JOB_OPTIONS, type Queues } from "../redis/queues.ts";
import { readability, tickPayload, WRITTEN } from "../requests/job-payloads.ts";
import { type ScheduledStart, schedulesOf, startScheduled } from "./local.ts";

/** Time for which a tick waits for a worker that has its profile, ms: the next tick comes anyway. */
const TICK_PATIENCE_MS = 600_000;

const templateOf = (id: string, profile: string, { streams, full, jitterMs }: Schedule) => ({
  name: "tick",
  data: { ...WRITTEN, profile, schedule: id, streams, full, jitterMs, putOff: false },
  opts: JOB_OPTIONS,
});

/** States of a tick that is still to come, or is being carried out. */
const OPEN = ["waiting", "delayed", "prioritized", "active"] as const;

/** Finds out whether the next tick of a scheduler is in the queue. BullMQ makes the tick after it only when it is taken. */
const nextTicksOf = async (queue: Queue) => {
  const open = new Set(await queue.getRanges([...OPEN], 0, -1));
  return async ({ key, next }: JobSchedulerJson): Promise<boolean> => {
    if (open.has(`repeat:${key}:${next}`)) return true;
    // It was taken after the scheduler was read, if there is another one by now.
    return (await queue.getJobScheduler(key))?.next !== next;
  };
};

/**
 * Adds missing schedules, and removes those of these profiles that are no longer configured. Keeps an existing one with a
 * readable payload and a next tick, because adding it again while its tick is due would lose the tick. Returns the number
 * of added schedules.
 */
export const settleSchedules = async (queue: Queue, profiles: readonly Config[]): Promise<number> => {
  // Otherwise ticks of one scheduler overlap; the syncs they request still run in parallel.
  await queue.setGlobalConcurrency(1);
  const wanted = schedulesOf(profiles);
  // Read before the ticks: a tick that is made meanwhile is not of these.
  const found = await queue.getJobSchedulers();
  const hasNextTick = await nextTicksOf(queue);
  let added = 0;
  for (const { id, profile, schedule } of wanted) {
    const there = found.find(({ key }) => key === id);
    // A newer program's template is left to newer workers; a template that no program can read is created again.
    const isKept = ["readable", "newer"].includes(readability(there?.template?.data));
    if (there !== undefined && isKept && (await hasNextTick(there))) continue;
    await queue.upsertJobScheduler(
      id,
      { pattern: schedule.cron, tz: schedule.timeZone },
      templateOf(id, profile, schedule),
    );
    added += 1;
  }
  const own = new Set(profiles.map(({ profile }) => profile));
  for (const { key } of found) {
    const isOwn = own.has(key.split(".")[0] ?? "");
    if (isOwn && !wanted.some(({ id }) => id === key)) await queue.removeJobScheduler(key);
  }
  return added;
};

export interface TickDeps extends ScheduledStart {
  readonly profiles: readonly Config[];
  readonly queues: Pick<Queues, "schedule">;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** A schedule is due: requests its sync like any other caller. */
export const processTick = async (taken: ActiveJob<Job>, deps: TickDeps): Promise<Started> => {
  const { job } = taken;
  const tick = await readPayload(tickPayload, taken, deps);
  let config: Config;
  try {
    config = await knownProfile(taken, tick.profile, deps, TICK_PATIENCE_MS);
  } catch (error) {
    // No worker has this organization any more, so its schedule ends.
    if (isCode(error, "PROFILE_UNKNOWN")) await deps.queues.schedule.removeJobScheduler(tick.schedule);
    throw error;
  }
  if (!tick.putOff && tick.jitterMs > 0) {
    await job.updateData({ ...tick, putOff: true });
    return postpone(taken, Math.floor(deps.random() * tick.jitterMs), deps.clock.now());
  }
  const { profile, streams, full } = tick;
  // A tick that is delivered twice requests one sync.
  return startScheduled({ profile, streams, full, idempotencyKey: `schedule ${job.id}` }, config, deps);
};
