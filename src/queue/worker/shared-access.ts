// Access to the service for a worker with Redis: rate and credits are shared through Redis by all processes with the same
// token. Redis has the figures only; no token and no response body enters it.

import { clientOf, type OpenAccess } from "../../../jobs/service-access.ts";
import type { ApiOutcome } from "../../api/outcome.ts";
import {
  createOrganizationLedger,
  type OrganizationLedger,
  RENEW_MS,
  type SharedReservation,
} from "../../budget/credits/organization-ledger.ts";
import { redisLedger, redisLimiter } from "../../budget/limits-in-redis.ts";
import { createThrottle } from "../../budget/rate/throttle.ts";
import { organizationKey } from "../../budget/store/in-redis.ts";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { endsWithin, untilAborted } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { createLocalSender, type SharedCredits } from "../../sync/request/turn.ts";

/** Delay before trying again while requests in flight may still refund credits, ms. */
const SETTLING_MS = 200;

const quotaIn = (outcome: ApiOutcome) => (outcome.kind === "ok" || outcome.kind === "refused" ? outcome.usage : null);

/** Time limit for settlements after a run, ms; reservations without settlement expire. */
const CLOSING_MS = 300;

/** Error that ends the run when no credit is left. */
const denialOf = ({ code, resetsAt }: Extract<SharedReservation, { ok: false }>): DuckmirrorError => {
  const until = resetsAt === null ? "" : ` until ${new Date(resetsAt).toISOString()}`;
  return code === "QUOTA_SPENT" ? new DuckmirrorError(code, { until }) : new DuckmirrorError(code, { allowance: 0 });
};

/** Limits of an organization, shared by all its processes; a run's own ledger limits the run. */
export const sharedLimits = (config: Config) =>
  ({ maxCredits: null, reserve: config.reserveCredits, pace: "greedy", runEveryMs: config.syncEveryMs }) as const;

/** Limiter and ledger of the organization in Redis. */
const openShared = (
  config: Config,
  place: { readonly connection: RedisConnection; readonly organization: string; readonly clock: Clock },
) => {
  const limits = sharedLimits(config);
  return {
    throttle: createThrottle({
      clock: place.clock,
      configured: config.rateLimitPerMinute,
      pacing: config.pacing,
      store: redisLimiter(place),
    }),
    ledger: createOrganizationLedger({ clock: place.clock, store: redisLedger(place, limits), limits }),
  };
};

interface OpenCredits extends SharedCredits {
  /** Waits briefly for unfinished settlements. */
  close(): Promise<void>;
}

/** Credits of an organization from its ledger in Redis. A settlement that Redis does not receive expires. */
export const organizationCredits = (ledger: OrganizationLedger, clock: Clock): OpenCredits => {
  const since = clock.now();
  const settling = new Set<Promise<void>>();
  const renewing = setInterval(() => void ledger.renew().catch(() => undefined), RENEW_MS);

  const settle = (
    requestId: string,
    outcome: ApiOutcome | null,
    charge: "spent" | "free" | "ambiguous",
  ): Promise<void> => {
    const quota = outcome === null ? null : quotaIn(outcome);
    const report = quota === null || outcome === null ? [] : [{ quota, sentAt: outcome.sentAt }];
    // The response is paid for and must be kept, even if Redis fails.
    const settled = ledger
      .settle(requestId, charge, ...report)
      .catch(() => undefined)
      .finally(() => settling.delete(settled));
    settling.add(settled);
    return settled;
  };

  /** Requests one credit; refunds it if the run has ended meanwhile. */
  const ask = (requestId: string, signal: AbortSignal) => {
    const asked = ledger.reserve(requestId, { signal, since });
    asked.then(
      (reservation) => {
        if (reservation.ok && signal.aborted) void settle(requestId, null, "free");
      },
      () => undefined,
    );
    return untilAborted(asked, signal);
  };

  return {
    reserve: async (requestId, signal) => {
      for (;;) {
        const reservation = await ask(requestId, signal);
        if (reservation.ok) return null;
        if (!reservation.settling) return denialOf(reservation);
        await clock.sleep(SETTLING_MS, signal);
      }
    },
    settle,
    close: async () => {
      clearInterval(renewing);
      await endsWithin(Promise.all(settling), CLOSING_MS, clock);
    },
  };
};

/** Sends requests from this process, within limits that all processes share. */
export const sharedAccess =
  (connection: RedisConnection): OpenAccess =>
  async (config, context) => {
    const client = clientOf(config, context);
    const organization = organizationKey(config.baseUrl ?? "", context.token.reveal());
    const { throttle, ledger } = openShared(config, { connection, organization, clock: context.clock });
    const credits = organizationCredits(ledger, context.clock);
    return {
      sender: createLocalSender({ client, throttle, credits }),
      close: async () => {
        await credits.close();
        await client.close();
      },
    };
  };
