// The rate limiter and the credit ledger that the processes of an organization share in Redis, over an open connection: keys, lifetimes, and
// the stored form of the ledger.
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { openSharedLedger, type SharedLedger } from "./credits/leases.ts";
import type { Limits } from "./credits/ledger.ts";
import { type SharedLimiter, sharedLimiterSchema, startShared } from "./rate/windows.ts";
import { createRedisState } from "./store/in-redis.ts";
import type { RedisConnection } from "./store/redis-connection.ts";
import type { StateStore } from "./store/state-store.ts";

const DAY_MS = 86_400_000;
/** Longer than any window of a rate limit. */
const LIMITER_TTL_MS = DAY_MS;
/** Longer than a period of credits: a month. */
const LEDGER_TTL_MS = 40 * DAY_MS;

const moments = z.array(z.number());
const figure = z.number().nullable();

const ledgerSchema = z.object({
  ledger: z.object({
    limits: z.object({
      maxCredits: figure,
      reserve: z.number(),
      pace: z.enum(["even", "greedy"]),
      runEveryMs: z.number(),
      rollsOver: z.object({ credits: z.number(), periodMs: z.number() }).optional(),
    }),
    spent: z.number(),
    reserved: z.number(),
    ambiguous: moments,
    period: z.object({ limit: figure, remaining: figure, resetsAt: figure }).nullable(),
    unseen: moments,
    unseenAmbiguous: moments,
    reporting: z.boolean(),
    paced: figure,
    baseline: z.object({ remaining: z.number(), spent: z.number() }).nullable(),
  }),
  open: z.array(z.object({ id: z.string(), leaseMs: z.number(), until: z.number() })),
  lapsed: z.array(z.object({ id: z.string(), at: z.number() })),
  figureAt: figure,
});

/** Location of an organization's shared state. */
export interface SharedPlace {
  readonly connection: RedisConnection;
  /** See organizationKey. */
  readonly organization: string;
  readonly clock: Clock;
}

// The braces keep the keys of an organization on one node of a cluster.
const keyOf = (organization: string, part: string) => `duckmirror:{${organization}}:${part}`;

/** Limiter of an organization in Redis, for createThrottle. */
export const redisLimiter = ({ connection, organization, clock }: SharedPlace): StateStore<SharedLimiter> =>
  createRedisState({
    connection,
    clock,
    key: keyOf(organization, "limiter"),
    schema: sharedLimiterSchema,
    start: startShared,
    ttlMs: LIMITER_TTL_MS,
  });

/** Credits of an organization in Redis, for createOrganizationLedger. */
export const redisLedger = (
  { connection, organization, clock }: SharedPlace,
  limits: Limits,
): StateStore<SharedLedger> =>
  createRedisState({
    connection,
    clock,
    key: keyOf(organization, "ledger"),
    schema: ledgerSchema,
    start: () => openSharedLedger(limits),
    ttlMs: LEDGER_TTL_MS,
    remembers: true,
  });
