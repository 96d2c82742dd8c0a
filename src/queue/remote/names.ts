// Names that loader and fetchers share in Redis.
import { JOB_OPTIONS, keyOf } from "../redis/queues.ts";

/** Completed jobs are removed, because their result is in the mailbox or the warehouse. Dead letters stay. */
export const PASSING_JOB = { ...JOB_OPTIONS, removeOnComplete: true } as const;

/** The same for the jobs of a worker. */
export const PASSING_WORKER = { removeOnComplete: { count: 0 }, removeOnFail: JOB_OPTIONS.removeOnFail } as const;

/** Key of the lock that a worker holds while it has the job. */
export const lockKeyOf = (queue: string, jobId: string): string => keyOf(queue, jobId, "lock");

/** Fence of credit reservations, in the Redis slot of the organization's ledger. */
export const fenceKeyOf = (organization: string, mirror: string): string =>
  `duckmirror:{${organization}}:run:${mirror}`;

/**
 * Time without renewal after which a fetcher counts as dead and its requests move to another one, ms. Longer than any
 * pause of a program that only waits for sockets.
 */
export const FETCH_LOCK_MS = 10_000;
export const STALL_CHECK_MS = 4_000;
/** Delay before a worker tries Redis again, ms. */
export const RETRY_MS = 1_000;
/** Deaths of fetchers after which a request fails. It is sent again each time and may cost a credit each time. */
export const MOST_DEATHS = 10;
