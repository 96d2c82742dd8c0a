// Connection: the way a job's requests take to the service, opened from the configuration. In one process that is a
// client behind a throttle of its own; a worker puts shared limits or fetchers on other machines in its place.
import { createClient } from "../src/api/client.ts";
import type { Redactor } from "../src/api/redact.ts";
import { createThrottle } from "../src/budget/throttle.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { Secret } from "../src/core/secret.ts";
import { createLocalSender, type Sender } from "../src/sync/request/sender.ts";
import type { Warehouse } from "../src/warehouse/file/warehouse.ts";

/** What a connection is opened with. */
export interface ConnectionContext {
  readonly clock: Clock;
  readonly version: string;
  readonly token: Secret;
  /** Ends the waits of opening it. */
  readonly signal?: AbortSignal;
}

export interface Connection {
  readonly sender: Sender;
  /**
   * Called once, when the warehouse is open and before anything is planned: answers that arrived for earlier runs go to
   * the archive, where recovery finds them, redacted (`redactOutcome`): what must not be stored must not be archived.
   * Answers with the requests of earlier runs that certainly never left.
   */
  readonly takeOver: (warehouse: Warehouse, redact: Redactor | null) => Promise<ReadonlySet<string>>;
  readonly close: () => Promise<void>;
}

/** Opens a connection. Throws BASE_URL_MISSING and configuration errors. */
export type Connect = (config: Config, context: ConnectionContext) => Promise<Connection>;

/** A client for the configured service. Throws BASE_URL_MISSING, TOKEN_OVER_PLAIN_HTTP. */
export const clientOf = (config: Config, { clock, version, token }: ConnectionContext) => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  return createClient({
    baseUrl: config.baseUrl,
    token,
    version,
    clock,
    timeouts: config.timeouts,
    maxBodyBytes: config.maxBodyBytes,
    connections: config.concurrency,
    allowPlainHttp: config.allowPlainHttp,
  });
};

/** Requests leave from this process, at a rate that only this process knows of. */
export const connectAlone: Connect = async (config, context) => {
  const client = clientOf(config, context);
  const throttle = createThrottle({ clock: context.clock, configured: config.rateLimitPerMinute });
  return {
    sender: createLocalSender({ client, throttle, credits: null }),
    takeOver: async () => new Set(),
    close: () => client.close(),
  };
};
