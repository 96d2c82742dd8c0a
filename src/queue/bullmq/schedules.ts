// Schedules on BullMQ: one Job Scheduler per entry of a profile's `schedule`. Its id contains the entry's content, so
// a changed entry is a new one. Schedulers are stored only in Redis; if Redis is emptied, they are created again from
// here.
import type { Queue } from "bullmq";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import type { Schedule } from "../../core/config/schedules.ts";
import { schedulesOf } from "../asking/configured-schedules.ts";
import { readability, WRITTEN } from "../asking/payloads.ts";
import { JOB_OPTIONS } from "../redis/queues.ts";

/** A tick overdue by this much was lost, ms. */
const LOST_AFTER_MS = 600_000;

const templateOf = (id: string, profile: string, { streams, full, jitterMs }: Schedule) => ({
  name: "tick",
  data: { ...WRITTEN.ask, profile, schedule: id, streams, full, jitterMs, putOff: false },
  opts: JOB_OPTIONS,
});

/**
 * Adds missing schedules and removes those of these profiles that are no longer configured. Keeps an existing one
 * with a readable payload, because adding it again while its tick is due would lose the tick. Returns the number of
 * added schedules.
 */
export const settleSchedules = async (
  queue: Queue,
  profiles: readonly Config[],
  clock: Pick<Clock, "now">,
): Promise<number> => {
  // Otherwise ticks of one scheduler overlap; the syncs they request still run in parallel.
  await queue.setGlobalConcurrency(1);
  const wanted = schedulesOf(profiles);
  const found = await queue.getJobSchedulers();
  // While the queue is paused, a tick waits, however long it is overdue.
  const isPaused = await queue.isPaused();
  let added = 0;
  for (const { id, profile, schedule } of wanted) {
    const there = found.find(({ key }) => key === id);
    const isDue = there?.next !== undefined && (isPaused || there.next > clock.now() - LOST_AFTER_MS);
    // A newer program's template is left to newer workers; a template that no program can read is created again.
    if (isDue && ["readable", "newer"].includes(readability(there.template?.data))) continue;
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
