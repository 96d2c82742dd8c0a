// During a loader's run: takes responses from its mailbox, and checks every second whether Redis lost a request or response
// (watch.ts).
import { Worker } from "bullmq";
import { failureToKeep } from "../../asking/failures.ts";
import { parsePayload } from "../../asking/payloads.ts";
import { PREFIX, pagesQueue } from "../../redis/queues.ts";
import { pagePayload } from "../messages.ts";
import * as names from "../names.ts";
import type { Arrivals } from "./arrivals.ts";
import { claim, type LoaderLink, readRedisTime } from "./link.ts";
import type { RemoteSender } from "./remote-sender.ts";
import { createWatch } from "./watch.ts";

const CHECK_EVERY_MS = 1_000;

/** Passes each response to `arrivals`. Returns the function that ends the receiving. */
export const receivePages = (link: LoaderLink, arrivals: Arrivals): (() => Promise<void>) => {
  const { asking, working, mirror, config, scrubber, warn } = link;
  const worker = new Worker(
    pagesQueue(mirror),
    async (job) => {
      try {
        await arrivals.arrive(parsePayload(pagePayload, "pages", job.data).delivery);
      } catch (error) {
        throw failureToKeep(error, scrubber);
      }
    },
    {
      connection: working.redis,
      prefix: PREFIX,
      // A response is in progress until it is durable: as many as requests, plus some late ones.
      concurrency: 2 * config.concurrency + 16,
      maxStalledCount: names.MOST_DEATHS,
      runRetryDelay: names.RETRY_MS,
      ...names.PASSING_WORKER,
    },
  );
  worker.on("error", (error) => warn(asking.detail(error)));
  return () => worker.close();
};

/** Checks every second for lost requests and responses. Returns the function that ends the checks. */
export const checkForLosses = (link: LoaderLink, arrivals: Arrivals, sender: RemoteSender): (() => Promise<void>) => {
  const { clock, queue, mailbox, epoch, asking, warn } = link;
  const over = new AbortController();
  const watch = createWatch({ clock, queue, mailbox, sender, arrivals, epoch, claim: () => claim(link) });
  const checking = (async () => {
    while (!over.signal.aborted) {
      // Redis may be away; the next check finds the state of the requests.
      await readRedisTime(link)
        .then(() => watch.check())
        .catch((error: unknown) => warn(asking.detail(error)));
      await clock.sleep(CHECK_EVERY_MS, over.signal).catch(() => undefined);
    }
  })();
  return async () => {
    over.abort();
    await checking;
  };
};
