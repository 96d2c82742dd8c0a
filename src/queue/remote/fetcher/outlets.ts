// Where the answers of a fetcher go: the mailbox and the queue of pages of each mirror.
import { Queue } from "bullmq";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import { WRITTEN } from "../../asking/payloads.ts";
import { ASKING, FETCH_QUEUE, pagesQueue } from "../../redis/queues.ts";
import { type Mailbox, openMailbox } from "../mailbox.ts";
import * as names from "../names.ts";

export interface Outlets {
  mailboxOf(mirror: string): Mailbox;
  /** Announces to the mirror's loader a delivery in its mailbox. */
  announceTo(mirror: string): (delivery: string) => Promise<void>;
  /** Whether requests wait for a fetcher; false while Redis is away. */
  othersWait(): Promise<boolean>;
  close(): Promise<void>;
}

export const createOutlets = (asking: RedisConnection, onError: (error: unknown) => void): Outlets => {
  const mailboxes = new Map<string, Mailbox>();
  const queues = new Map<string, Queue>();
  const queueOf = (name: string): Queue => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const queue = new Queue(name, { ...ASKING, connection: asking.redis, skipMetasUpdate: true });
    queue.on("error", onError);
    queues.set(name, queue);
    return queue;
  };
  return {
    mailboxOf: (mirror) => {
      const mailbox = mailboxes.get(mirror) ?? openMailbox(asking.redis, mirror);
      mailboxes.set(mirror, mailbox);
      return mailbox;
    },
    announceTo: (mirror) => async (delivery) => {
      const page = { ...WRITTEN.answer, delivery };
      await queueOf(pagesQueue(mirror)).add("page", page, { ...names.PASSING_JOB, jobId: delivery });
    },
    othersWait: async () => {
      const waiting = await queueOf(FETCH_QUEUE)
        .getWaitingCount()
        .catch(() => 0);
      return waiting > 0;
    },
    close: async () => {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
    },
  };
};
