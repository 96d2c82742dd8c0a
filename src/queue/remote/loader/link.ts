// Link of a run to its mirror's keys in Redis: connections, the queue of the fetchers, the mailbox, and the fence that
// keeps requests of another loader of the same mirror from being sent.
import { randomUUID } from "node:crypto";
import { Queue } from "bullmq";
import type { AccessContext } from "../../../../jobs/service-access.ts";
import { organizationKey } from "../../../budget/store/in-redis.ts";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { detailOf } from "../../../core/errors.ts";
import { createScrubber, type Scrubber, type Secret } from "../../../core/secret.ts";
import { registerMirror } from "../../fleet/mirrors.ts";
import { openAsking, openWorking, type WorkingConnection } from "../../redis/queue-connections.ts";
import { ASKING, FETCH_QUEUE } from "../../redis/queues.ts";
import { type Mailbox, openMailbox } from "../mailbox.ts";
import * as names from "../names.ts";
import { createSeals, type Seals } from "../seals.ts";
import { createStoreClock, type StoreClock } from "../store-clock.ts";
import { mirrorIdOf } from "./mirror-id.ts";

export interface RemoteAccessOptions {
  readonly redisUrl: Secret;
  /** Called with a text when Redis fails. */
  readonly warn: (text: string) => void;
}

/** What a run uses of Redis for its mirror. */
export interface MirrorLink {
  readonly clock: Clock;
  /** Redis's time, known after `readRedisTime`. */
  readonly storeClock: StoreClock;
  readonly config: Config;
  /** Id of the mirror. */
  readonly mirror: string;
  readonly organization: string;
  /** Names this run among the loaders of the mirror. */
  readonly epoch: string;
  readonly asking: RedisConnection;
  /** The queue `fetch`. */
  readonly queue: Queue;
  readonly mailbox: Mailbox;
  readonly seals: Seals;
  readonly scrubber: Scrubber;
  readonly warn: (text: string) => void;
}

export interface LoaderLink extends MirrorLink {
  readonly working: WorkingConnection;
}

/** Longer than any run; a run that ends normally removes its fence. */
const FENCE_LASTS_MS = 30 * 86_400_000;
const DROP_FENCE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

const fenceOf = ({ organization, mirror }: MirrorLink): string => names.fenceKeyOf(organization, mirror);

/** Link to the mirror with the id `mirror`. The caller closes the connection. */
export const mirrorLink = (
  { asking, warn }: { readonly asking: RedisConnection; readonly warn: (text: string) => void },
  mirror: string,
  config: Config,
  { clock, token }: Pick<AccessContext, "clock" | "token">,
): MirrorLink => {
  const organization = organizationKey(config.baseUrl ?? "", token.reveal());
  const queue = new Queue(FETCH_QUEUE, { ...ASKING, connection: asking.redis });
  queue.on("error", (error) => warn(asking.detail(error)));
  const scrubber = createScrubber();
  scrubber.hide(token);
  return {
    clock,
    storeClock: createStoreClock(clock),
    config,
    mirror,
    organization,
    epoch: randomUUID(),
    asking,
    queue,
    mailbox: openMailbox(asking.redis, mirror),
    seals: createSeals(token, organization),
    scrubber,
    warn,
  };
};

/** Connects. Throws REDIS_UNAVAILABLE, REDIS_TOO_OLD, REDIS_EVICTS, REDIS_REPLICA, DATA_DIR_UNWRITABLE. */
export const openLink = async (
  { redisUrl, warn }: RemoteAccessOptions,
  config: Config,
  context: AccessContext,
): Promise<LoaderLink> => {
  const mirror = await mirrorIdOf(config.dataDir);
  const asking = await openAsking(redisUrl, warn, context.signal);
  const working = openWorking(redisUrl, (error) => warn(asking.detail(error)));
  return { ...mirrorLink({ asking, warn }, mirror, config, context), working };
};

/** Corrects `storeClock` by Redis's time. */
export const readRedisTime = async ({ asking, storeClock }: MirrorLink): Promise<void> => {
  const [seconds = 0, micros = 0] = await asking.redis.time();
  storeClock.correct(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
};

/** Takes fence and mailbox for this run. */
export const claim = async (link: MirrorLink): Promise<void> => {
  const { asking, mailbox, mirror, epoch, config } = link;
  await asking.redis.set(fenceOf(link), epoch, "PX", FENCE_LASTS_MS);
  await mailbox.claim(epoch);
  await registerMirror(asking.redis, mirror, config.profile);
};

/** Gives up fence and mailbox: requests still in the queue must not be sent after the run has ended. */
export const resign = async (link: MirrorLink): Promise<void> => {
  const { asking, mailbox, epoch, warn } = link;
  await mailbox
    .resign(epoch)
    .then(() => asking.redis.eval(DROP_FENCE, 1, fenceOf(link), epoch))
    .catch((error: unknown) => warn(detailOf(error)));
};

export const closeLink = async ({ working, queue, asking }: LoaderLink): Promise<void> => {
  working.end();
  await queue.close().catch(() => undefined);
  await asking.close();
};
