// Queues that every fleet shows, in the order of jobs and page.
export const FLEET_QUEUES = ["sync", "export", "deliver", "alert", "schedule", "verify"];
