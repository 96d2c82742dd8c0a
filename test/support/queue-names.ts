// Queues that every fleet shows, in the order of jobs and page; those of pages follow.
export const FLEET_QUEUES = ["sync", "publish", "export", "deliver", "alert", "schedule", "verify", "fetch"];
