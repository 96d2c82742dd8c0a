// `StateStore` in Redis, for processes that share a limiter or a ledger: the state is JSON text under one key, read together with the
// server's time, and replaced only if it has not changed since. The pure functions decide here, not in Lua, so that memory and Redis share
// one implementation.
import { createHash, randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { jsonOrNull } from "../../core/json.ts";
import type { RedisConnection } from "./redis-connection.ts";
import type { StateStore, Stepped, UpdateOptions } from "./state-store.ts";

// Combines the updates that a process makes at the same time: they become one read and one write of the
// shared state. Sent one by one, each would find that another changed the state, and would be tried again and again.

interface Waiting<S> {
  readonly options: UpdateOptions;
  /** Applies the step; the returned function settles its caller once the change is stored. */
  apply(state: S, now: number): { readonly state: S; readonly done: () => void };
  refuse(reason: unknown): void;
}

/** Runs `work` with a signal that aborts once all `signals` have. A missing signal never aborts. */
const whileWanted = async <T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const unwanted = new AbortController();
  const check = () => {
    if (signals.every((signal) => signal?.aborted === true)) unwanted.abort(signals.at(-1)?.reason);
  };
  for (const signal of signals) signal?.addEventListener("abort", check);
  check();
  try {
    return await work(unwanted.signal);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", check);
  }
};

/** Stores a batch as one update, without the updates whose caller has left or whose step throws. */
const updateTogether = async <S>(store: StateStore<S>, batch: readonly Waiting<S>[]): Promise<void> => {
  const step = (start: S, now: number): Stepped<S, readonly (() => void)[]> => {
    let state = start;
    const done: (() => void)[] = [];
    for (const each of batch) {
      try {
        each.options.signal?.throwIfAborted();
        const applied = each.apply(state, now);
        state = applied.state;
        done.push(applied.done);
      } catch (error) {
        done.push(() => each.refuse(error));
      }
    }
    return { state, result: done };
  };
  try {
    const signals = batch.map(({ options }) => options.signal);
    const stored = await whileWanted(signals, (signal) => store.update(step, { signal }));
    for (const done of stored) done();
  } catch (error) {
    for (const each of batch) {
      const { signal } = each.options;
      each.refuse(signal?.aborted === true ? signal.reason : error);
    }
  }
};

/** The store, with combined updates: those requested during an update are stored together after it, in their order. */
export const combined = <S>(store: StateStore<S>): StateStore<S> => {
  let waiting: Waiting<S>[] = [];
  let busy = false;

  const serve = async (): Promise<void> => {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await updateTogether(store, batch);
      // Lets callers that just got their result add their next update to the next batch.
      await new Promise((resolve) => setImmediate(resolve));
    }
    busy = false;
  };

  return {
    shared: store.shared,
    update: (step, options = {}) =>
      new Promise((resolve, reject) => {
        const { signal } = options;
        // A caller that leaves does not wait for the others of its batch.
        const leave = () => reject(signal?.reason);
        signal?.addEventListener("abort", leave, { once: true });
        const settled = () => signal?.removeEventListener("abort", leave);
        waiting.push({
          options,
          apply: (state, now) => {
            const next = step(state, now);
            const done = () => {
              settled();
              resolve(next.result);
            };
            return { state: next.state, done };
          },
          refuse: (reason) => {
            settled();
            reject(reason);
          },
        });
        if (!busy) void serve();
      }),
  };
};

// The latest reply of a server, with an estimate of the server's time that is never ahead of it: a reply is older than its
// arrival, so each one bounds the server's clock from below. The highest of the latest bounds counts, so that one slow reply
// does not put the estimate back.

/** Bounds that are kept, and the longest time for which they hold, ms: clocks drift. */
const BOUNDS = 16;
const OLDEST_MS = 60_000;

interface LatestReply<R> {
  /** Takes a reply to what was sent at `sentAt`, by the same clock as `elapsed`; null: there was none. Returns it. */
  keep<K extends R | null>(reply: K, sentAt: number): K;
  /** The latest reply, with its time moved on to the present; null: there is none, or it is old. */
  read(): R | null;
}

/** `elapsed`: ms by a clock that nobody sets. A reply's `now`: ms by the server's clock. */
export const createLatestReply = <R extends { readonly now: number }>(elapsed: () => number): LatestReply<R> => {
  let latest: { readonly reply: R; readonly at: number } | null = null;
  let bounds: readonly number[] = [];
  return {
    keep: (reply, sentAt) => {
      if (reply === null) {
        latest = null;
        return reply;
      }
      const at = elapsed();
      // A bound above what this reply allows is of another clock: the server's was put back, or another one took over.
      const highest = reply.now + 1 - sentAt;
      bounds = [...bounds.filter((bound) => bound <= highest), reply.now - at].slice(-BOUNDS);
      latest = { reply, at };
      return reply;
    },
    read: () => {
      const now = elapsed();
      if (latest === null || now - latest.at > OLDEST_MS) return null;
      return { ...latest.reply, now: Math.max(latest.reply.now, Math.floor(now + Math.max(...bounds))) };
    },
  };
};

interface Script {
  readonly text: string;
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: createHash("sha1").update(text).digest("hex") });

const READ = script(`
local time = redis.call('TIME')
return {'read', redis.call('GET', KEYS[1]) or '', time[1], time[2]}`);

/** KEYS: state. ARGV: expected text, its successor, lifetime in ms. */
const REPLACE = script(`
local time = redis.call('TIME')
local stored = redis.call('GET', KEYS[1]) or ''
if stored ~= ARGV[1] then return {'conflict', stored, time[1], time[2]} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return {'replaced', ARGV[2], time[1], time[2]}`);

const replySchema = z
  .tuple([z.enum(["read", "conflict", "replaced"]), z.string(), z.coerce.number(), z.coerce.number()])
  .transform(([verdict, text, seconds, micros]) => ({
    verdict,
    text,
    now: seconds * 1000 + Math.floor(micros / 1000),
  }));

type Reply = z.output<typeof replySchema>;

const VERSION = 1;
/** Time limit for retrying an update before the run ends. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 100;
/** Replies that may pass with time or on another server; every other error reply is final. */
const PASSING = /^(OOM|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|UNKILLABLE)\b/;

const isReply = (error: unknown): boolean => error instanceof Error && error.name === "ReplyError";

const run = async (
  redis: Redis,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
) => {
  const call = [keys.length, ...keys, ...args] as const;
  try {
    return replySchema.parse(await redis.evalsha(sha, ...call));
  } catch (error) {
    if (!detailOf(error).startsWith("NOSCRIPT")) throw error;
    return replySchema.parse(await redis.eval(text, ...call));
  }
};

export interface RedisStateOptions<S> {
  readonly connection: RedisConnection;
  readonly key: string;
  /**
   * Validates a state that another process, perhaps of another version, wrote. JSON has no -Infinity: it becomes
   * null.
   */
  readonly schema: z.ZodType<S>;
  /** The state when none is stored or it is unreadable; `now` in ms of the server's clock. */
  readonly start: (now: number) => S;
  /** An unused state is removed after this long, ms. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly patienceMs?: number;
  /**
   * A change starts from the state of the latest reply, without reading it again: one round trip while no other process
   * writes, else two as before. Its time is then an estimate, never ahead of the server's. Unset: it reads first.
   */
  readonly remembers?: boolean;
}

/**
 * Opens the state under `key`. An update is retried for a minute while Redis is away, full or failing over; then it
 * rejects with REDIS_UNAVAILABLE or REDIS_FULL. It rejects at once when the connection was closed or access is
 * denied.
 */
export const createRedisState = <S>(options: RedisStateOptions<S>): StateStore<S> => {
  const { connection, key, schema, start, ttlMs, clock, patienceMs = PATIENCE_MS, remembers = false } = options;
  const { redis, address, detail } = connection;
  const envelope = z.object({ version: z.literal(VERSION), state: schema });

  const failure = (error: unknown) => {
    const code = detailOf(error).startsWith("OOM") ? "REDIS_FULL" : "REDIS_UNAVAILABLE";
    return new DuckmirrorError(code, { address, detail: detail(error) }, { cause: error });
  };

  const endsNow = (error: unknown): boolean =>
    connection.closed() || (isReply(error) && !PASSING.test(detailOf(error)));

  const latest = createLatestReply<Reply>(() => performance.now());

  const update: StateStore<S>["update"] = async <R>(
    step: (state: S, now: number) => Stepped<S, R>,
    { signal }: UpdateOptions = {},
  ): Promise<R> => {
    const giveUpAt = clock.now() + patienceMs;
    /** Sends once; null: try again, starting with a read. */
    const tried = async (send: () => Promise<Reply>): Promise<Reply | null> => {
      signal?.throwIfAborted();
      const sentAt = performance.now();
      try {
        return latest.keep(await send(), sentAt);
      } catch (error) {
        latest.keep(null, sentAt);
        if (endsNow(error) || clock.now() >= giveUpAt) throw failure(error);
        await clock.sleep(RETRY_MS, signal);
        return null;
      }
    };
    /** The last text sent. If its reply is lost, finding this text shows that it was stored. */
    let sent: { readonly text: string; readonly result: R } | null = null;
    let found: Reply | null = remembers ? latest.read() : null;
    /** The state may be outdated. A write finds out; a step that writes nothing must be taken again. */
    let isGuess = found !== null;
    for (;;) {
      found ??= await tried(() => run(redis, READ, [key], []));
      if (found === null) continue;
      if (sent !== null && found.text === sent.text) return sent.result;
      const stored = envelope.safeParse(jsonOrNull(found.text));
      const state = stored.success ? stored.data.state : start(found.now);
      const next = step(state, found.now);
      if (stored.success && next.state === state) {
        if (!isGuess) return next.result;
        isGuess = false;
        found = null;
        continue;
      }
      isGuess = false;
      // The mark makes every text unique, even if two processes reach the same state.
      const text = JSON.stringify({ version: VERSION, mark: randomUUID(), state: next.state });
      const before = found.text;
      sent = { text, result: next.result };
      found = await tried(() => run(redis, REPLACE, [key], [before, text, ttlMs]));
      if (found?.verdict === "replaced") return next.result;
    }
  };

  return combined({ shared: true, update });
};

/**
 * Key of an organization: processes with the same base address and token share limits. The token cannot be derived
 * from it.
 */
export const organizationKey = (baseUrl: string, token: string): string =>
  createHash("sha256")
    .update(`${baseUrl.replace(/\/+$/, "")}\n${token}`)
    .digest("hex");
