// How long a job has been left to other workers: one key in Redis for each such job. Its age does not show it: the job may
// have waited for days before any worker was offered it: paused, or without a worker.
import type { Redis } from "ioredis";
import { keyOf } from "./queues.ts";

/** A longer time without an offer does not count, ms: the job was paused, or no worker ran. */
const GAP_MS = 600_000;
const LASTS_S = 3 * 86_400;

/** KEYS: the job's. ARGV: longest gap in ms, lifetime in s. Its value: first and latest offer, by Redis's clock. */
const LEFT_FOR = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first, last = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
if not first or now - tonumber(last) > tonumber(ARGV[1]) then first = now end
redis.call('SET', KEYS[1], string.format('%.0f %.0f', tonumber(first), now), 'EX', ARGV[2])
return now - tonumber(first)`;

/** Notes that the job is left to others now; returns for how long it has been, ms. */
export const leftFor = async (redis: Redis, queue: string, jobId: string): Promise<number> =>
  Number(await redis.eval(LEFT_FOR, 1, keyOf("left", queue, jobId), GAP_MS, LASTS_S));
