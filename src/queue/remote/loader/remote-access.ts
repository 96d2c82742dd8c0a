// Access to the service of the role load: fetchers send the requests, the warehouse stays here. One per run of the engine.
import { randomUUID } from "node:crypto";
import { Queue, Worker } from "bullmq";
import type { OpenAccess } from "../../../../jobs/service-access.ts";
import { organizationKey } from "../../../budget/store/in-redis.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { createScrubber, type Secret } from "../../../core/secret.ts";
import { untilAborted } from "../../../core/until-aborted.ts";
import { PREFIX } from "../../bullmq/queues.ts";
import { openAsking, openWorking } from "../../bullmq/redis-connections.ts";
import { failureToKeep } from "../../failures.ts";
import { registerMirror } from "../../fleet/mirrors.ts";
import { parsePayload } from "../../payloads.ts";
import { openMailbox } from "../mailbox.ts";
import { pagePayload } from "../messages.ts";
import * as names from "../names.ts";
import { openShared } from "../organizations.ts";
import { patiently } from "../patience.ts";
import { createSeals } from "../seals.ts";
import { createStoreClock } from "../store-clock.ts";
import { type Arrivals, createArrivals } from "./arrivals.ts";
import { mirrorIdOf } from "./mirror-id.ts";
import { createRemoteSender } from "./remote-sender.ts";
import { takeOver } from "./take-over.ts";
import { createWatch } from "./watch.ts";

export interface RemoteAccessOptions {
  readonly redisUrl: Secret;
  /** Called with a text when Redis fails. */
  readonly warn: (text: string) => void;
}

const LOOK_EVERY_MS = 1_000;
const CLAIM_PATIENCE_MS = 30_000;
/** Time limit for closing when Redis does not respond. */
const CLOSING_MS = 500;
/** Longer than any run; a run that ends normally removes its fence. */
const FENCE_LASTS_MS = 30 * 86_400_000;
const DROP_FENCE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/**
 * Connects engine runs to the fetchers of the queue. Opening throws REDIS_UNAVAILABLE, REDIS_TOO_OLD, REDIS_EVICTS,
 * REDIS_REPLICA, BASE_URL_MISSING and DATA_DIR_UNWRITABLE.
 */
export const remoteAccess =
  ({ redisUrl, warn }: RemoteAccessOptions): OpenAccess =>
  async (config, { clock, token, signal }) => {
    if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
    const mirror = await mirrorIdOf(config.dataDir);
    const asking = await openAsking(redisUrl, warn, signal);
    const { redis, address } = asking;
    const working = openWorking(redisUrl, (error) => warn(asking.detail(error)));
    const organization = organizationKey(config.baseUrl, token.reveal());
    const storeClock = createStoreClock(clock);
    const { throttle, ledger } = openShared(config, { connection: asking, organization, clock });
    const queue = new Queue(names.FETCH_QUEUE, { connection: redis, prefix: PREFIX });
    queue.on("error", (error) => warn(asking.detail(error)));
    const mailbox = openMailbox(redis, mirror);
    const seals = createSeals(token, organization);
    const epoch = randomUUID();
    const fence = { key: names.fenceKeyOf(organization, mirror), value: epoch };
    const scrubber = createScrubber();
    scrubber.hide(token);
    const reading = { limitBytes: config.maxBodyBytes, scrub: (text: string) => scrubber.scrub(text) };
    const sender = createRemoteSender({
      clock,
      storeClock,
      throttle,
      ledger,
      queue,
      mailbox,
      reading,
      sender: { profile: config.profile, mirror, epoch },
      organization,
      seals,
      address,
    });

    const hearTime = async () => {
      const [seconds = 0, micros = 0] = await redis.time();
      storeClock.heard(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
    };
    const claim = async () => {
      await redis.set(fence.key, epoch, "PX", FENCE_LASTS_MS);
      await mailbox.claim(epoch);
      await registerMirror(redis, mirror, config.profile);
    };

    const closing: (() => Promise<void>)[] = [];

    const receive = (arrivals: Arrivals) => {
      const worker = new Worker(
        names.pagesQueue(mirror),
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
      closing.push(() => worker.close());
    };

    const keepLooking = (arrivals: Arrivals) => {
      const over = new AbortController();
      const watch = createWatch({ clock, queue, mailbox, sender, arrivals, epoch, claim });
      const looking = (async () => {
        while (!over.signal.aborted) {
          // Redis may be away; the next check finds the state of the requests.
          await hearTime()
            .then(() => watch.look())
            .catch((error: unknown) => warn(asking.detail(error)));
          await clock.sleep(LOOK_EVERY_MS, over.signal).catch(() => undefined);
        }
      })();
      closing.push(async () => {
        over.abort();
        await looking;
      });
    };

    return {
      sender,
      takeOver: async (warehouse, redact) => {
        const claimed = async () => {
          const patience = { clock, forMs: CLAIM_PATIENCE_MS, signal };
          await patiently(() => hearTime().then(claim), patience);
          const taking = { clock, storeClock, queue, mailbox, seals, mirror, warn, reading, redact, signal };
          return patiently(() => takeOver(warehouse, taking), patience);
        };
        const unsent = await untilAborted(claimed(), signal);
        const arrivals = createArrivals({
          clock,
          mailbox,
          seals,
          mirror,
          warn,
          sender,
          warehouse,
          skewMs: storeClock.skewMs,
        });
        receive(arrivals);
        keepLooking(arrivals);
        return unsent;
      },
      close: async () => {
        sender.end();
        const forced = new AbortController();
        const force = clock.sleep(CLOSING_MS, forced.signal).catch(() => undefined);
        const closed = async () => {
          // Requests still in the queue must not be sent after the run has ended.
          await mailbox
            .resign(epoch)
            .then(() => redis.eval(DROP_FENCE, 1, fence.key, epoch))
            .catch((error: unknown) => warn(detailOf(error)));
          await Promise.allSettled(closing.map((close) => close()));
        };
        await Promise.race([closed(), force]);
        forced.abort();
        working.end();
        await queue.close().catch(() => undefined);
        await asking.close();
      },
    };
  };
