// Commands and jobs of many requests for syncs, sent together: each wait for Redis is a wait behind everything else that
// this process does, and each write costs it time.
import type { BulkJobOptions, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { z } from "zod";
import { gathered } from "../../core/async/map-at-once.ts";

/** Redis does nothing else while it adds these jobs. */
const JOBS_AT_ONCE = 50;
const COMMANDS_AT_ONCE = 1_000;

export type RedisCommand = readonly [name: string, ...values: (string | number)[]];
/** Sends commands in the order of the calls, those of the same moment in one write. Resolves with their results. */
export type Send = (commands: readonly RedisCommand[]) => Promise<readonly unknown[]>;

/** Error and result of each command; a failed one has no result. */
const answersSchema = z.array(z.tuple([z.unknown(), z.unknown().optional()]));
type Answers = z.output<typeof answersSchema>;

const carryOut = async (redis: Redis, commands: readonly RedisCommand[]): Promise<Answers> =>
  answersSchema.parse(await redis.pipeline(commands.map((command) => [...command])).exec());

/** The results. Throws the first error among them. */
const resultsOf = (answers: Answers): readonly unknown[] => {
  const failed = answers.find(([error]) => error !== null);
  if (failed !== undefined) throw failed[0];
  return answers.map(([, result]) => result);
};

export const createSend = (redis: Redis): Send => {
  const send = gathered(COMMANDS_AT_ONCE, async (calls: readonly (readonly RedisCommand[])[]) => {
    const answers = await carryOut(redis, calls.flat());
    let at = 0;
    return calls.map(({ length }) => {
      at += length;
      return answers.slice(at - length, at);
    });
  });
  return async (commands) => resultsOf(await send(commands));
};

export interface NewJob {
  readonly name: string;
  readonly data: object;
  readonly opts: BulkJobOptions;
  /** Carried out before the job is added: a worker may take it at once. */
  readonly marks: readonly RedisCommand[];
}

/** Adds jobs with their marks, those of the same moment in one step: all of them or none. */
export const createAddJob = (redis: Redis, queue: Queue): ((added: NewJob) => Promise<unknown>) =>
  gathered(JOBS_AT_ONCE, async (all: readonly NewJob[]) => {
    // Sent together, in this order.
    const [marked, added] = await Promise.all([
      carryOut(
        redis,
        all.flatMap(({ marks }) => marks),
      ),
      queue.addBulk(all.map(({ name, data, opts }) => ({ name, data, opts }))),
    ]);
    resultsOf(marked);
    return added;
  });
