// A lock per profile in Redis: two requests for a sync of one profile must not both find nothing to join. After five seconds
// a request goes on without the lock, which costs a second sync at worst.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { keyOf } from "../../redis/queues.ts";
import type { RedisCommand, Send } from "../../redis/together.ts";

/** How long the lock is held at most, and how long a request waits for it, ms. */
export const LOCK_MS = 5_000;
const LOCK_POLL_MS = 20;
const FREE_LOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/**
 * A function that does `work` under the lock of a profile. `reads` are sent with the request for the lock; Redis carries them
 * out after it, and `work` gets their results.
 */
export const createProfileLock =
  (send: Send, clock: Clock) =>
  async <T>(
    profile: string,
    reads: readonly RedisCommand[],
    work: (found: readonly unknown[]) => Promise<T>,
  ): Promise<T> => {
    const key = keyOf("asking", profile);
    const token = randomUUID();
    const deadline = clock.now() + LOCK_MS;
    try {
      for (;;) {
        const [locked, ...found] = await send([["set", key, token, "PX", LOCK_MS, "NX"], ...reads]);
        if (locked !== null || clock.now() >= deadline) return await work(found);
        await clock.sleep(LOCK_POLL_MS);
      }
    } finally {
      // Not awaited: the connection keeps the order, so the next request of this process finds the lock free.
      send([["eval", FREE_LOCK, 1, key, token]]).catch(() => undefined);
    }
  };
