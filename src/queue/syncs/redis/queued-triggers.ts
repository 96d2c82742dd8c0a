// Triggers on BullMQ: a request becomes a job, or joins one that covers it. Any process with the same Redis
// and configuration can request a sync; a worker runs it.
import { profileOf, type Triggers } from "../../asking/asks.ts";
import { markCancelled } from "../../redis/marks.ts";
import { atRedis } from "../../redis/queue-connections.ts";
import { createQueuedVerifications } from "../../verifications/redis.ts";
import { createFinder, type FinderDeps } from "./find-sync.ts";
import { isLive, openSyncs } from "./live-syncs.ts";
import { createTurns } from "./one-after-another.ts";
import { LOCK_MS } from "./profile-lock.ts";
import { bringForward } from "./put-off-jobs.ts";
import { createStart } from "./start-sync.ts";

export interface QueuedTriggersDeps extends FinderDeps {
  readonly random: () => number;
}

export const createQueuedTriggers = (deps: QueuedTriggersDeps): Triggers => {
  const { connection, queues, profiles, clock, random } = deps;
  const { redis } = connection;
  const verifications = createQueuedVerifications({ redis, queues, profiles, clock, random });

  const asking = <T>(work: () => Promise<T>): Promise<T> => atRedis(connection, work);

  const { find, findAll } = createFinder(deps);
  const inTurn = createTurns(clock, LOCK_MS);
  const start = createStart({ ...deps, isKnown: async (runId) => (await find(runId)) !== null });

  return {
    start: (ask) => asking(() => inTurn(profileOf(profiles, ask.profile).profile, () => start(ask))),
    verify: ({ profile }) => asking(() => verifications.start(profile)),
    find: (runId) => asking(async () => (await verifications.find(runId)) ?? find(runId)),
    cancel: (runId) =>
      asking(async () => {
        if (!(await isLive(queues, runId))) return verifications.cancel(runId);
        if ((await find(runId)) === null) return false;
        await markCancelled(redis, runId);
        await bringForward(queues, runId);
        return true;
      }),
    active: () =>
      asking(async () => {
        const open = await Promise.all(profiles.map(({ profile }) => openSyncs(redis, queues, profile)));
        const found = await findAll(open.flat().map(({ syncId }) => syncId));
        return [...found, ...(await verifications.active())];
      }),
  };
};
