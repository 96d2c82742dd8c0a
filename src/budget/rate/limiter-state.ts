// State of the rate limiter: the facts that limiter.ts decides with, and the part of them that Redis and a file keep.
// One zod schema describes it; JSON has no infinity, so a time before all others is null there.
import { z } from "zod";
import { FASTEST_PLAN } from "./assumed-rate.ts";

/** ms since the epoch. */
const moment = z
  .number()
  .nullable()
  .default(null)
  .transform((at) => at ?? -Infinity);
const figure = z.number().nullable().default(null);
const rate = z.object({ limit: z.number().positive(), windowMs: z.number().positive() });
/** A service names a few; longer lists were written by another program, and each request would go through them. */
const MOST_RATES = 1_000;

const tally = z.object({ from: z.number(), count: z.number() });
const counted = z.object({ windowMs: z.number(), answered: z.array(tally).max(10_000).readonly() });

/** What the service's counter said last: requests left after all that had arrived, until `resetsAt`. */
const left = z.object({
  remaining: z.number(),
  resetsAt: z.number(),
  /** Time of the answer. */
  at: z.number(),
  /** Less than the windows allow: others use up the limit, or it is that of a bucket. */
  isLess: z.boolean(),
});

/** What refusals showed, beyond what the service announces. null: nothing. */
const learned = z.object({
  /** Most requests at once; more follow at the rate in force. */
  burst: figure,
  /** A window that holds less than announced. */
  window: rate.nullable().default(null),
  /** Most requests in flight. */
  inFlight: z.number().positive().nullable().default(null),
  /** The service named requests in flight as the reason. */
  isNamed: z.boolean().default(false),
  at: moment,
});

export const limiterSchema = z.object({
  /** Requests per minute set by the user; null: use the service's limit. */
  configured: figure,
  /** Limits in the service's headers. */
  announced: z.array(rate).max(MOST_RATES).readonly().default([]),
  /** False: the headers name no window, and their resets show that it is shorter than a minute: follow `left` alone. */
  isCounted: z.boolean().default(true),
  /** Without a named window: the longest reset on which two answers in a row agreed, and that of the latest answer, ms. */
  longestResetMs: z.number().default(0),
  lastResetMs: z.number().default(0),
  /** `remaining` does not include the request of its own answer. */
  countsBefore: z.boolean().default(false),
  /** Requests per minute while nobody names a rate, and how it came about (assumed-rate.ts). */
  assumed: z.number().positive().default(FASTEST_PLAN),
  steppedAt: moment,
  loweredFrom: figure,
  retried: figure,
  /** Answered requests per length of window. */
  counts: z
    .array(counted)
    .max(2 * MOST_RATES)
    .readonly()
    .default([]),
  /** Time of the latest grant, and when a bucket that leaks at the rate in force is empty after it. */
  grantedAt: moment,
  emptyAt: moment,
  /** The fullest that bucket was, and the most requests in flight, with an answer that was no refusal. */
  provenBurst: z.number().nonnegative().default(0),
  provenInFlight: z.number().nonnegative().default(0),
  /** No request before this time, after Retry-After or a refusal. */
  blockedUntil: moment,
  left: left.nullable().default(null),
  learned: learned.nullable().default(null),
  /** Time of the latest refusal that was learned from; those of requests sent before it show nothing new. */
  refusedAt: moment,
  /** Refusals of late that neither the windows nor others explain. */
  unexplained: z.number().default(0),
  /** Shortest time from a request to its answer, ms; null: too few answers. */
  fastestMs: figure,
  trips: z.number().default(0),
  /** Time when the request of the latest applied answer was sent; older answers are ignored. */
  heardUpTo: moment,
});

export type LimiterState = z.output<typeof limiterSchema>;
export type Learned = z.output<typeof learned>;

export const startLimiter = (configured: number | null): LimiterState => limiterSchema.parse({ configured });
