// Opens the sender with which a job calls the service, from the configuration: an HTTP client behind this process's own throttle. A worker
// with Redis passes shared limits instead.
import { join } from "node:path";
import { createClient } from "../src/api/client.ts";
import { recallLimiter, rememberLimiter } from "../src/budget/rate/learned-limits.ts";
import { createThrottle } from "../src/budget/rate/throttle.ts";
import { organizationKey } from "../src/budget/store/in-redis.ts";
import { createMemoryState } from "../src/budget/store/state-store.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { mostValues } from "../src/core/config/memory-plan.ts";
import { resolveToken } from "../src/core/config/secrets.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { Secret } from "../src/core/secret.ts";
import { createLocalSender, type Sender } from "../src/sync/request/turn.ts";

/** Inputs of opening the access. */
export interface AccessContext {
  readonly clock: Clock;
  readonly version: string;
  readonly token: Secret;
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
}

export interface ServiceAccess {
  readonly sender: Sender;
  readonly close: () => Promise<void>;
}

/** Opens the access. Throws BASE_URL_MISSING and configuration errors. */
export type OpenAccess = (config: Config, context: AccessContext) => Promise<ServiceAccess>;

/** A client for the configured service. Throws BASE_URL_MISSING, TOKEN_OVER_PLAIN_HTTP. */
export const clientOf = (config: Config, { clock, version, token }: AccessContext) => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  return createClient({
    baseUrl: config.baseUrl,
    token,
    ...(config.token === null || config.token.kind === "value" ? {} : { rereadToken: () => resolveToken(config) }),
    version,
    clock,
    timeouts: config.timeouts,
    maxBodyBytes: config.maxBodyBytes,
    mostValues: mostValues(config.memory, config.maxPageSize),
    connections: config.concurrency,
    allowPlainHttp: config.allowPlainHttp,
  });
};

/** Sends requests from this process, with a rate limit that only this process uses. */
export const openOwnAccess: OpenAccess = async (config, context) => {
  const client = clientOf(config, context);
  const { clock, token } = context;
  const organization = organizationKey(config.baseUrl ?? "", token.reveal());
  const file = join(config.dataDir, "state", "limiter.json");
  const store = createMemoryState(clock, await recallLimiter(file, organization, clock.now()));
  const throttle = createThrottle({ clock, configured: config.rateLimitPerMinute, pacing: config.pacing, store });
  return {
    sender: createLocalSender({ client, throttle, credits: null }),
    close: async () => {
      const limiter = await store.update((state) => ({ state, result: state }));
      await Promise.all([rememberLimiter(file, organization, limiter), client.close()]);
    },
  };
};
