// Names of what loader and fetchers share in Redis.
import { JOB_OPTIONS, keyOf } from "../bullmq/queues.ts";

/** The queue of requests, of all organizations. */
export const FETCH_QUEUE = "fetch";
/** The queue of pages of one mirror: whoever holds its warehouse takes from it. */
export const pagesQueue = (mirror: string): string => `pages-${mirror}`;

/** Done is done: what a request brought lies in the mailbox, and then in the warehouse. Dead letters stay. */
export const PASSING_JOB = { ...JOB_OPTIONS, removeOnComplete: true } as const;

/** The same for the jobs of a worker. */
export const PASSING_WORKER = { removeOnComplete: { count: 0 }, removeOnFail: JOB_OPTIONS.removeOnFail } as const;

/** The lock that a worker holds while it has the job. */
export const lockKeyOf = (queue: string, jobId: string): string => keyOf(queue, jobId, "lock");

/** What a reservation of credits is fenced by; in the slot of the organization's ledger. */
export const fenceKeyOf = (organization: string, mirror: string): string =>
  `duckmirror:{${organization}}:run:${mirror}`;

/**
 * A fetcher that died is noticed after this long, ms: its requests go to another one then. Longer than any pause of a
 * program that only waits for sockets.
 */
export const FETCH_LOCK_MS = 10_000;
export const STALL_CHECK_MS = 4_000;
/** Workers wait this long before they try Redis again, ms. */
export const RETRY_MS = 1_000;
/** Deaths of fetchers a request survives: it is sent again each time, and each time it may cost a credit. */
export const MOST_DEATHS = 10;
