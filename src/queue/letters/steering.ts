// Pauses and resumes the fleet, a profile or a queue, and starts what a pause had put off.

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { DuckmirrorError } from "../../core/errors.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { dropPause, notePause, type PauseTarget } from "../fleet/pauses.ts";
import type { Queues } from "../redis/queues.ts";
import { liveSyncs } from "../syncs/redis/live-syncs.ts";
import { bringForward } from "../syncs/redis/start-sync.ts";

export interface Steering {
  /** Pauses; returns false when it was paused already. Throws USAGE for an unknown queue. */
  pause(target: PauseTarget): Promise<boolean>;
  /** Resumes, and starts what waited; returns false when it was not paused. Throws USAGE for an unknown queue. */
  resume(target: PauseTarget): Promise<boolean>;
}

export const createSteering = (redis: Redis, queues: Queues): Steering => {
  const queueNamed = (name: string | null): Queue => {
    const found = Object.values(queues).find((queue) => queue.name === name);
    if (found !== undefined) return found;
    const names = Object.values(queues).map((queue) => queue.name);
    const detail = `"${name}" is no queue.${didYouMean(name ?? "", names)} Queues: ${names.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  };

  /** Syncs that the pause put off need not wait for their next check. */
  const wake = async ({ kind, name }: PauseTarget): Promise<void> => {
    if (kind === "fleet") return queues.sync.promoteJobs();
    for (const { syncId } of await liveSyncs(redis, queues, name ?? "")) await bringForward(queues, syncId);
  };

  return {
    pause: async (target) => {
      const queue = target.kind === "queue" ? queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      if (wasPaused) return false;
      // The time of an earlier pause of the queue may be left, because another program resumed it.
      if (queue !== null) await dropPause(redis, target);
      const isNew = await notePause(redis, target);
      await queue?.pause();
      return isNew;
    },
    resume: async (target) => {
      const queue = target.kind === "queue" ? queueNamed(target.name) : null;
      const wasPaused = (await queue?.isPaused()) ?? false;
      await queue?.resume();
      const noted = await dropPause(redis, target);
      if (queue === null) await wake(target);
      return queue === null ? noted : wasPaused;
    },
  };
};
