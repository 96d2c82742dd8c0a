// Turns at Redis: one request of a profile at a time, so that two cannot both find nothing to join. Losing a turn costs a
// superfluous sync.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { keyOf } from "../queues.ts";
import type { RedisCommand, Send } from "./together.ts";

/** Longest time for which one request of a profile may delay another, ms. */
export const TURN_MS = 5_000;
const TURN_POLL_MS = 20;
const FREE_TURN = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/**
 * Does `work` in the turn of a profile. `reads` are sent with the request for the turn; Redis carries them out after it, and
 * `work` gets their results.
 */
export const createTurns =
  (send: Send, clock: Clock) =>
  async <T>(
    profile: string,
    reads: readonly RedisCommand[],
    work: (found: readonly unknown[]) => Promise<T>,
  ): Promise<T> => {
    const key = keyOf("asking", profile);
    const token = randomUUID();
    const deadline = clock.now() + TURN_MS;
    try {
      for (;;) {
        const [turn, ...found] = await send([["set", key, token, "PX", TURN_MS, "NX"], ...reads]);
        if (turn !== null || clock.now() >= deadline) return await work(found);
        await clock.sleep(TURN_POLL_MS);
      }
    } finally {
      // The next request of this process is sent after this one, on the same connection.
      send([["eval", FREE_TURN, 1, key, token]]).catch(() => undefined);
    }
  };
