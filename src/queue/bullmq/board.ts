// The queues as bull-board sees them: to be looked at. Jobs are retried, cancelled and dropped by `duckmirror jobs` and the
// status page, which know what belongs to a sync.
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { Queues } from "./queues.ts";

/** Shows the queues, and changes nothing in them. */
export const boardOf = (queues: Queues): readonly BaseAdapter[] =>
  Object.values(queues).map((queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false }));
