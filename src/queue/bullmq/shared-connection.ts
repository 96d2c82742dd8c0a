// A connection to the service whose rate and credits are shared, through Redis, with every process that has the same
// token. Requests leave from this process (role all).
import { setTimeout as delay } from "node:timers/promises";
import { type Connect, clientOf } from "../../../jobs/connection.ts";
import type { ApiOutcome } from "../../api/outcome.ts";
import type { OrganizationLedger } from "../../budget/organization-ledger.ts";
import type { RedisConnection } from "../../budget/redis-connection.ts";
import { organizationKey } from "../../budget/redis-store.ts";
import { createLocalSender, type SharedCredits } from "../../sync/request/sender.ts";
import { denialOf, openShared } from "../remote/organizations.ts";

/** How long a reservation outlives its process, ms; longer than any request takes. */
const LEASE_MS = 120_000;
/** Requests in flight may still give credits back: look again after this time, ms. */
const SETTLING_MS = 200;

const quotaIn = (outcome: ApiOutcome) => (outcome.kind === "ok" || outcome.kind === "refused" ? outcome.usage : null);

/** Credits of an organization as its ledger in Redis knows them. What cannot be told there runs out by itself. */
const creditsOf = (ledger: OrganizationLedger): SharedCredits => {
  const reserved = new Map<string, string>();
  return {
    reserve: async (requestId) => {
      for (;;) {
        const reservation = await ledger.reserve({ owner: requestId, leaseMs: LEASE_MS });
        if (reservation.ok) {
          reserved.set(requestId, reservation.id);
          return null;
        }
        if (!reservation.settling) return denialOf(reservation);
        await delay(SETTLING_MS);
      }
    },
    settle: async (requestId, outcome, charge) => {
      const id = reserved.get(requestId);
      reserved.delete(requestId);
      if (id === undefined) return;
      const quota = quotaIn(outcome);
      // The answer is paid for and must be kept, whatever became of Redis.
      await ledger
        .settle(id, charge, ...(quota === null ? [] : [{ quota, sentAt: outcome.sentAt }]))
        .catch(() => undefined);
    },
  };
};

/** Requests leave from this process, within limits that all processes share. */
export const connectShared =
  (connection: RedisConnection): Connect =>
  async (config, context) => {
    const client = clientOf(config, context);
    const organization = organizationKey(config.baseUrl ?? "", context.token.reveal());
    const { throttle, ledger } = openShared(config, { connection, organization, clock: context.clock });
    return {
      sender: createLocalSender({ client, throttle, credits: creditsOf(ledger) }),
      takeOver: async () => new Set(),
      close: () => client.close(),
    };
  };
