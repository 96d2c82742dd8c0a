// Lets commands beside a worker use the rate and credits that all processes share through Redis.
import type { OpenAccess } from "../../../jobs/service-access.ts";
import type { Config } from "../../core/config/config.ts";
import type { CommandContext } from "../command.ts";

/**
 * Runs `work` with the configured connection: shared limits with `redis_url`, else none. Throws REDIS_UNAVAILABLE and
 * the other refusals of Redis; warnings go to stderr unless --quiet.
 */
export const withSharedLimits = async <T>(
  config: Config,
  { shared, terminal, signal }: CommandContext,
  work: (limits: { readonly connect?: OpenAccess }) => Promise<T>,
): Promise<T> => {
  if (config.redisUrl === null) return work({});
  const { openAsking } = await import("../../queue/redis/queue-connections.ts");
  const { sharedAccess } = await import("../../queue/worker/shared-access.ts");
  const warn = (text: string) => void (shared.quiet || terminal.err(`warning: ${text}\n`));
  const connection = await openAsking(config.redisUrl, warn, signal);
  try {
    return await work({ connect: sharedAccess(connection) });
  } finally {
    await connection.close();
  }
};
