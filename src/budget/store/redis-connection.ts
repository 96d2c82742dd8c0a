// Connects to Redis: fails fast with a reason, reconnects, and never shows a password.
import { Redis } from "ioredis";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { createScrubber } from "../../core/secret.ts";

export interface ConnectOptions {
  /** Name in CLIENT LIST. */
  readonly name?: string;
  /** Time limit of a command, ms. After it, the command may or may not have been carried out. */
  readonly commandTimeoutMs?: number;
}

/** A connection and its name in errors. */
export interface RedisConnection {
  readonly redis: Redis;
  /** `host:port`, without user and password. */
  readonly address: string;
  /** Error text without the password; for a lost connection, the cause of the loss. */
  detail(error: unknown): string;
  /** True when it was closed here; it does not reconnect. */
  closed(): boolean;
  /** Closes it in any state. */
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 5_000;
const LONGEST_RETRY_MS = 2_000;
const CLOSING_MS = 400;
/** Time limit of checkRedis for the first connection. */
const FIRST_CONNECTION_MS = 10_000;

const passwordOf = (url: string): string => {
  if (!URL.canParse(url)) return "";
  const { password } = new URL(url);
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
};

const addressOf = (url: string): string => {
  if (!URL.canParse(url)) return url;
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === "" ? 6379 : port}`;
};

/**
 * Connects in the background to a `redis://` or `rediss://` address. Never throws, and never emits an unhandled
 * error.
 */
export const connectRedis = (url: string, options: ConnectOptions = {}): RedisConnection => {
  const scrubber = createScrubber();
  scrubber.hide(passwordOf(url));
  const redis = new Redis(url, {
    ...(options.name === undefined ? {} : { connectionName: options.name }),
    commandTimeout: options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    // Nothing waits in a hidden queue or is sent twice: the sender decides what an unknown outcome means.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
    // The server became a replica; its address may lead to the new primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  });
  let lastError: string | null = null;
  let closed = false;
  redis.on("error", (error) => {
    lastError = detailOf(error);
  });
  redis.on("ready", () => {
    lastError = null;
  });
  return {
    redis,
    address: addressOf(url),
    detail: (error) => {
      // ioredis names a setting of its own.
      const text = detailOf(error).replace(/^Stream isn't writeable.*/, "the connection is lost");
      // An AggregateError of all addresses of a name has no message.
      const lost = redis.status !== "ready" && lastError !== null && lastError !== "";
      return scrubber.scrub(lost ? (lastError ?? text) : text === "" ? "no connection" : text);
    },
    closed: () => closed,
    close: async () => {
      closed = true;
      if (redis.status === "end") return;
      const ended = new Promise<void>((resolve) => redis.once("end", () => resolve()));
      // QUIT waits for commands sent before. Skip it when the server is away.
      const quit = redis.status === "ready" ? redis.quit().then(() => ended) : Promise.reject(new Error("away"));
      const deadline = setTimeout(() => redis.disconnect(), CLOSING_MS);
      await quit.catch(() => redis.disconnect());
      clearTimeout(deadline);
    },
  };
};

/** Lines `name:value` of INFO. */
const readInfo = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(":");
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );

const LEAST_VERSION = [6, 2] as const;

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1]);
};

const untilReady = (redis: Redis): Promise<void> =>
  new Promise((resolve, reject) => {
    if (redis.status === "ready") return resolve();
    const done = (end: () => void) => {
      clearTimeout(timer);
      redis.off("ready", ready).off("error", failed).off("end", ended);
      end();
    };
    const ready = () => done(resolve);
    const failed = (error: unknown) => done(() => reject(error));
    const ended = () => done(() => reject(new Error("the connection is closed")));
    const timer = setTimeout(() => failed(new Error("no answer")), FIRST_CONNECTION_MS);
    redis.on("ready", ready).on("error", failed).on("end", ended);
  });

/** Redis does not know the user or the password, or denies a command or key. */
const REFUSED = /\b(WRONGPASS|NOAUTH|NOPERM|DENIED)\b|invalid password|user executing the script can't/;

/** KEYS: one of the queue and one of the limits. Uses each kind of value that they store. */
const TRY_RIGHTS = `
redis.call('TIME')
for _, key in ipairs(KEYS) do
  redis.call('SET', key, '1')
  redis.call('GET', key)
  redis.call('DEL', key)
  redis.call('HSET', key, 'a', '1')
  redis.call('DEL', key)
  redis.call('ZADD', key, 1, 'a')
  redis.call('DEL', key)
  redis.call('LPUSH', key, 'a')
  redis.call('DEL', key)
  redis.call('XADD', key, '*', 'a', '1')
  redis.call('DEL', key)
end`;
/** Their prefixes are those of every key; a script takes one slot of a cluster, so each has its own call. */
const RIGHTS_KEYS = ["{duckmirror}:rights", "duckmirror:{rights}:rights"] as const;

/**
 * What this user may not do; null: nothing was denied. Another failure, as of a full Redis, is left to the commands
 * that meet it.
 */
const denialOf = async ({ redis, detail }: RedisConnection): Promise<string | null> => {
  for (const key of RIGHTS_KEYS) {
    try {
      await redis.eval(TRY_RIGHTS, 1, key);
    } catch (error) {
      const text = detail(error);
      if (REFUSED.test(text)) return text;
    }
  }
  return null;
};

/**
 * Waits for the connection and checks that this Redis may hold the limits and the queue. Returns warnings as whole
 * sentences. Throws REDIS_UNAVAILABLE, REDIS_REFUSED, REDIS_TOO_OLD, REDIS_EVICTS and REDIS_REPLICA.
 */
export const checkRedis = async (connection: RedisConnection): Promise<readonly string[]> => {
  const { redis, address, detail } = connection;
  let info: ReadonlyMap<string, string>;
  try {
    await untilReady(redis);
    info = readInfo(z.string().parse(await redis.info()));
  } catch (error) {
    const text = detail(error);
    const code = REFUSED.test(text) ? "REDIS_REFUSED" : "REDIS_UNAVAILABLE";
    throw new DuckmirrorError(code, { address, detail: text }, { cause: error });
  }
  const version = info.get("redis_version") ?? "0";
  if (isOld(version)) throw new DuckmirrorError("REDIS_TOO_OLD", { address, version });
  if (info.get("role") === "slave") throw new DuckmirrorError("REDIS_REPLICA", { address });
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  // Also without a memory limit, because one can be set while the server runs.
  if (policy !== "noeviction") throw new DuckmirrorError("REDIS_EVICTS", { address, policy });
  const denied = await denialOf(connection);
  if (denied !== null) throw new DuckmirrorError("REDIS_REFUSED", { address, detail: denied });
  if (info.get("aof_enabled") !== "0") return [];
  return [
    `Redis at ${address} keeps no append-only file (appendonly no): after a restart queued work and shared limits start afresh. The mirror itself loses nothing.`,
  ];
};
