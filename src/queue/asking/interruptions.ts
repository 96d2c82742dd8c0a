// Why running jobs are aborted, and how long an interrupted one waits.

/** Reasons for aborting a running job; they reach the job as a bare text. */
export const ABORT = { stopping: "stopping", cancelled: "cancelled", lockLost: "lock lost" } as const;

/** Delay before trying again when another process writes to the mirror, or Redis was away, ms. */
export const BUSY_MS = 2_000;
/** Delay of a job that is passed to another worker, or to this one after its restart, ms. */
export const HANDED_ON_MS = 200;
