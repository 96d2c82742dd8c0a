// Opens the two Redis connections of a process: one for commands, which fail at once while Redis is away, so that no caller hangs; and
// one for a worker's job consumers, which wait until Redis is back.
import { Redis } from "ioredis";
import { checkRedis, connectRedis, type RedisConnection } from "../../budget/store/redis-connection.ts";
import { untilAborted } from "../../core/async/waiting.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

// The clock of the fleet: Redis's own, because machines differ.

/** Redis's clock, which all machines share, ms since the epoch. */
export const redisNow = async (redis: Redis): Promise<number> => {
  const [seconds = 0, micros = 0] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
};

const LONGEST_RETRY_MS = 2_000;

/**
 * Opens the connection for adding and finding jobs. Throws REDIS_UNAVAILABLE, REDIS_REFUSED, REDIS_TOO_OLD,
 * REDIS_EVICTS, REDIS_REPLICA, and the signal's reason. `warn` is called with warnings about this Redis.
 */
export const openCommandConnection = async (
  url: Secret,
  warn: (text: string) => void,
  signal?: AbortSignal,
): Promise<RedisConnection> => {
  const connection = connectRedis(url.reveal(), { name: "duckmirror-asks" });
  try {
    for (const warning of await untilAborted(checkRedis(connection), signal)) warn(warning);
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
};

/** A failure of Redis as REDIS_FULL or REDIS_UNAVAILABLE. Our own errors stay unchanged. */
export const redisFailure = (connection: RedisConnection, cause: unknown): DuckmirrorError => {
  if (cause instanceof DuckmirrorError) return cause;
  const detail = connection.detail(cause);
  const code = /OOM command not allowed/.test(detail) ? "REDIS_FULL" : "REDIS_UNAVAILABLE";
  return new DuckmirrorError(code, { address: connection.address, detail }, { cause });
};

/** Runs work that uses Redis. Throws REDIS_UNAVAILABLE, REDIS_FULL and our own errors. */
export const atRedis = async <T>(connection: RedisConnection, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    throw redisFailure(connection, cause);
  }
};

export interface ConsumerConnection {
  readonly redis: Redis;
  end(): void;
}

/** The connection of a worker, and a function that closes it with all derived connections in any state. */
export const openConsumerConnection = (url: Secret, onError: (error: Error) => void): ConsumerConnection => {
  const opened: Redis[] = [];
  /** BullMQ's worker derives a blocking connection from this one; it must be known, so that it can be closed. */
  class Tracked extends Redis {
    override duplicate(...override: Parameters<Redis["duplicate"]>): Redis {
      const copy = super.duplicate(...override);
      opened.push(copy);
      return copy;
    }
  }
  const redis = new Tracked(url.reveal(), {
    connectionName: "duckmirror-works",
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
    // The server became a replica; its address may lead to the new primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  });
  opened.push(redis);
  redis.on("error", onError);
  return {
    redis,
    end: () => {
      for (const each of opened) each.disconnect();
    },
  };
};
