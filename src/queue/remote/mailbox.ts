// Mailbox of a mirror in Redis: sent requests, and responses until the loader has made them durable. One script
// checks in one step whether a request may be sent (`Departure`).
import { createHash, randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { keyOf } from "../redis/queues.ts";

/** In place of the number of sends: a response was taken. */
const DONE = "done";
/** In place of an epoch: its loader ended in order. */
export const ENDED = "ended";
/** Lifetime of a response that no loader reads. */
const TTL_MS = 30 * 86_400_000;

interface Script {
  readonly text: string;
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: createHash("sha1").update(text).digest("hex") });

/**
 * KEYS: lock of the job, epoch, departures, answers, sizes. ARGV: token of the lock, epoch, request, slot in ms,
 * highest age of a slot in ms, most waiting bytes, lifetime in ms. A request whose response was taken is `done`.
 */
const DEPART = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return {'fenced', now, 0} end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'unlocked', now, 0} end
local before = redis.call('HGET', KEYS[3], ARGV[3])
if before == 'done' then return {'answered', now, 0} end
for nth = 1, tonumber(before or '0') do
  if redis.call('HEXISTS', KEYS[4], ARGV[3] .. '.' .. nth) == 1 then return {'answered', now, nth} end
end
local held = 0
for _, size in ipairs(redis.call('HVALS', KEYS[5])) do held = held + size end
if held > tonumber(ARGV[6]) then return {'full', now, 0} end
if now - ARGV[4] > tonumber(ARGV[5]) then return {'stale', now, 0} end
local nth = redis.call('HINCRBY', KEYS[3], ARGV[3], 1)
redis.call('PEXPIRE', KEYS[3], ARGV[7])
return {'go', now, nth}`);

/** KEYS: answers, sizes. ARGV: delivery, answer, its bytes, lifetime in ms. */
const PUT = script(`
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[4]) end
return 1`);

/** KEYS: answers, sizes, departures. ARGV: delivery, request. */
const DROP = script(`
for nth = 1, 2 do redis.call('HDEL', KEYS[nth], ARGV[1]) end
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then redis.call('HSET', KEYS[3], ARGV[2], 'done') end
return 1`);

/**
 * KEYS: epoch, departures, memory. ARGV: epoch, lifetime in ms. Only the owner of the epoch ends it. An ended epoch
 * is not a lost one.
 */
const RESIGN = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], '${ENDED}', 'PX', ARGV[2])
redis.call('DEL', KEYS[2], KEYS[3])
return 1`);

const departureSchema = z.tuple([
  z.enum(["go", "fenced", "unlocked", "answered", "full", "stale"]),
  z.number(),
  z.number(),
]);

export interface DepartureAsk {
  readonly requestId: string;
  /** Epoch of the requesting loader; if the mailbox has another one, another loader has taken over. */
  readonly epoch: string;
  /** Key of the job's lock, and its value while this worker has the job. */
  readonly lockKey: string;
  readonly lockToken: string;
  /** Time when the slot was taken, ms of Redis's clock. */
  readonly slotAt: number;
}

export interface Departure {
  /**
   * `go`: counts as sent from now on. `fenced`: another loader took over. `unlocked`: another fetcher has the job.
   * `answered`: it was sent before, and its response is here. `full`: too many bytes wait for the loader. `stale`:
   * the slot is too old.
   */
  readonly kind: "go" | "fenced" | "unlocked" | "answered" | "full" | "stale";
  /** ms of Redis's clock. */
  readonly at: number;
  /** For `go`: number of sends so far; for `answered`: number of the answered send. */
  readonly nth: number;
}

/** Highest age of a slot when its request is sent; less than the limiter's margin over a minute. */
export const MOST_SLOT_AGE_MS = 250;
/** Most bytes of bodies that may wait for a mirror's loader, besides those in flight. */
export const MOST_WAITING_BYTES = 64 * 1024 * 1024;

/** Id of one response; a request may be sent again when its sender died. */
export const deliveryId = (requestId: string, nth: number): string => `${requestId}.${nth}`;

/** Every method rejects with Redis's errors. */
export interface Mailbox {
  /** Asks whether the request may be sent now. */
  depart(ask: DepartureAsk): Promise<Departure>;
  /** Stores an encrypted response (sealed-answers.ts); storing the same one again changes nothing. */
  put(delivery: string, answer: Buffer): Promise<void>;
  read(delivery: string): Promise<Buffer | null>;
  /** The response was taken; its request is never sent again. null: the response belongs to no request. */
  drop(delivery: string, requestId: string | null): Promise<void>;
  /** Ids of waiting responses. */
  deliveries(): Promise<readonly string[]>;
  /** Requests of these that were sent or answered. */
  departed(requestIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** How often each of these requests was sent, if no response to it was taken. */
  sends(requestIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Name of Redis's present memory; null: it has nothing of this loader. A changed name shows that Redis was emptied
   * or restarted, so it may have lost requests that were sent.
   */
  memory(): Promise<string | null>;
  /** From now on only requests of this epoch may be sent. */
  claim(epoch: string): Promise<void>;
  /** null: the mailbox is unclaimed, or Redis lost its memory. */
  epoch(): Promise<string | null>;
  /** Forbids sending under this epoch; another epoch is not affected. */
  resign(epoch: string): Promise<void>;
}

export const openMailbox = (redis: Redis, mirror: string, mostWaitingBytes = MOST_WAITING_BYTES): Mailbox => {
  const key = (part: string) => keyOf("mirror", mirror, part);
  const [epochKey, departures, answers] = [key("epoch"), key("departures"), key("answers")];
  const [sizes, memory] = [key("sizes"), key("memory")];

  const run = async ({ text, sha }: Script, keys: readonly string[], args: readonly (string | number | Buffer)[]) => {
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return redis.eval(text, keys.length, ...keys, ...args);
    }
  };

  const departuresOf = async (requestIds: readonly string[]): Promise<readonly [string, string | null][]> => {
    if (requestIds.length === 0) return [];
    const counts = await redis.hmget(departures, ...requestIds);
    return requestIds.map((requestId, index) => [requestId, counts[index] ?? null]);
  };

  return {
    depart: async ({ requestId, epoch, lockKey, lockToken, slotAt }) => {
      const keys = [lockKey, epochKey, departures, answers, sizes];
      const args = [lockToken, epoch, requestId, slotAt, MOST_SLOT_AGE_MS, mostWaitingBytes, TTL_MS];
      const [kind, at, nth] = departureSchema.parse(await run(DEPART, keys, args));
      return { kind, at, nth };
    },
    put: async (delivery, answer) => {
      await run(PUT, [answers, sizes], [delivery, answer, answer.length, TTL_MS]);
    },
    read: (delivery) => redis.hgetBuffer(answers, delivery),
    drop: async (delivery, requestId) => {
      await run(DROP, [answers, sizes, departures], [delivery, requestId ?? ""]);
    },
    deliveries: () => redis.hkeys(answers),
    departed: async (requestIds) =>
      new Set((await departuresOf(requestIds)).flatMap(([requestId, count]) => (count === null ? [] : [requestId]))),
    sends: async (requestIds) =>
      new Map(
        (await departuresOf(requestIds)).flatMap(([requestId, count]) =>
          count === null || count === DONE ? [] : [[requestId, Number(count)] as const],
        ),
      ),
    memory: async () => {
      const [mark, server] = await Promise.all([redis.get(memory), redis.info("server")]);
      return mark === null ? null : `${mark} ${/^run_id:(.*)$/m.exec(server)?.[1]?.trim() ?? ""}`;
    },
    claim: async (epoch) => {
      await redis.set(memory, randomUUID(), "PX", TTL_MS);
      await redis.set(epochKey, epoch, "PX", TTL_MS);
    },
    epoch: () => redis.get(epochKey),
    resign: async (epoch) => {
      await run(RESIGN, [epochKey, departures, memory], [epoch, TTL_MS]);
    },
  };
};
