// Read-only view of the queues for bull-board. Jobs are retried, cancelled and dropped by `duckmirror jobs` and the
// status page, which know the parts of a sync.
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { Queue } from "bullmq";

/** Shows the queues and changes nothing. */
export const boardOf = (queues: readonly Queue[]): readonly BaseAdapter[] =>
  queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false }));
