// Triggers on BullMQ: a request becomes a job, or joins one that covers it. Any process with the same Redis
// and configuration can request a sync; a worker runs it.

import { endsWithin } from "../../../core/async/when-free.ts";
import type { Clock } from "../../../core/clock.ts";
import { profileOf, type Triggers } from "../../asking/asks.ts";
import { markCancelled } from "../../redis/marks.ts";
import { atRedis } from "../../redis/queue-connections.ts";
import { createQueuedVerifications } from "../../verifications/redis.ts";
import { createFinder, type FinderDeps } from "./find-sync.ts";
import { isLive, openSyncs } from "./live-syncs.ts";
import { bringForward, createStart, LOCK_MS } from "./start-sync.ts";

// Requests of one profile in this process, one after the other: then only one of them waits for its turn at Redis. Many that
// ask there at once keep Redis busy with asking.

/** `mostMs`: nobody waits longer for those before. */
const createTurns = (clock: Clock, mostMs: number) => {
  const last = new Map<string, Promise<void>>();

  /** Runs `work` when the earlier ones of the same name have ended, and answers as it does. */
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const mine = before === undefined ? work() : endsWithin(before, mostMs, clock).then(work);
    const ended: Promise<void> = mine.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, ended);
    void ended.then(() => {
      if (last.get(name) === ended) last.delete(name);
    });
    return mine;
  };
};

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
