// Time limits of a session: its deadline, which other requests may extend, the limit of its run, and the grace period
// for unfinished requests. Aborting `stop` ends the session; the signal `ended` says that the session has ended by
// itself.
import type { Clock } from "../src/core/clock.ts";
import { DuckmirrorError } from "../src/core/errors.ts";

/** Time limit for unfinished requests once work of a worker ends, ms; shorter than a worker's time to stop. */
export const WORKER_GRACE_MS = 6_000;
/** Longest time for reading a deadline again, ms: a sync ends in time also while Redis is away. */
const DEADLINE_READ_MS = 1_000;

interface Deadline {
  /** Time left for the sync, ms; null: no limit. */
  readonly leftMs: number | null;
  /** Reads it again. */
  readonly readLeftMs: () => Promise<number | null>;
}

/** A signal that aborts a grace period after `stop`, unless the run ends first. */
export const hardAfter = (stop: AbortSignal, ran: AbortSignal, graceMs: number, clock: Clock): AbortSignal => {
  const hard = new AbortController();
  const onOver = () => {
    clock.sleep(graceMs, ran).then(
      () => hard.abort(new DuckmirrorError("INTERRUPTED")),
      () => undefined,
    );
  };
  stop.addEventListener("abort", onOver, { once: true, signal: ran });
  return hard.signal;
};

const endNow = (stop: AbortController): void => stop.abort(new DuckmirrorError("DURATION_SPENT"));

/** Ends the session at the time limit of its run; null: none. */
export const endAfter = (stop: AbortController, ms: number | null, ended: AbortSignal, clock: Clock): void => {
  if (ms === null) return;
  clock.sleep(ms, ended).then(
    () => endNow(stop),
    () => undefined,
  );
};

/** Time that another request has given; 0 where nobody answers in time. */
const moreTime = async ({ readLeftMs }: Deadline, ended: AbortSignal, clock: Clock): Promise<number | null> => {
  const read = new AbortController();
  const late = clock.sleep(DEADLINE_READ_MS, AbortSignal.any([ended, read.signal])).then(
    () => 0,
    () => 0,
  );
  const leftMs = await Promise.race([readLeftMs().catch(() => 0), late]);
  read.abort();
  return leftMs;
};

/** Ends the session at its deadline. Rejects when the session has ended by then. */
export const endAtDeadline = async (
  stop: AbortController,
  deadline: Deadline,
  ended: AbortSignal,
  clock: Clock,
): Promise<void> => {
  let { leftMs } = deadline;
  while (leftMs !== null && leftMs > 0) {
    await clock.sleep(leftMs, ended);
    leftMs = await moreTime(deadline, ended, clock);
  }
  if (leftMs !== null) endNow(stop);
};
