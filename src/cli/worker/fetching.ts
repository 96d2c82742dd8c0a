// The process of a fetcher: takes requests until it is stopped, and serves health and metrics if it has an address. It has
// no page, because it has no mirror.
import { WORKER_GRACE_MS } from "../../../jobs/session-time.ts";
import type { Config } from "../../core/config/config.ts";
import type { ListenAddress } from "../../core/config/listen-address.ts";
import { resolveToken } from "../../core/config/secrets/token.ts";
import type { Logger } from "../../core/log.ts";
import type { Secret } from "../../core/secret.ts";
import type { Tracer } from "../../core/tracing.ts";
import type { FetchRole } from "../../queue/remote/fetcher/fetch-worker.ts";
import type { RunningServer } from "../../server/listen.ts";
import type { CommandContext } from "../command.ts";
import { resolveAccess } from "./access-keys.ts";
import { identityOf } from "./identity.ts";
import { faultLog } from "./log.ts";
import type { ProfileWatch } from "./profile-watch.ts";
import { untilStopped } from "./until-stopped.ts";

export interface Fetching {
  readonly profiles: readonly Config[];
  /** The first profile's, with the settings of the process. */
  readonly config: Config;
  readonly redisUrl: Secret;
  /** Address of its server; null: none. */
  readonly listen: ListenAddress | null;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly unable: ProfileWatch["unable"];
}

const serve = async (
  fetcher: FetchRole,
  { config, listen, logger, unable }: Fetching,
  { clock, version, scrubber }: CommandContext,
): Promise<RunningServer | null> => {
  if (listen === null) return null;
  const { key, keyFile, madeIn, tls } = await resolveAccess(config, listen, scrubber);
  if (madeIn !== null) logger.info(`the key of its address is in ${madeIn}`);
  const { startFetcherServer } = await import("../../server/listen.ts");
  const { readiness, fleet } = fetcher;
  return startFetcherServer(
    { key, keyFile, tls, clock, version, readiness, fleet, unable, onFault: faultLog(logger) },
    listen,
  );
};

/** Throws the errors of `startFetcher` and `startFetcherServer`. */
export const fetchUntilStopped = async (fetching: Fetching, context: CommandContext): Promise<void> => {
  const { profiles, config, redisUrl, logger, tracer, unable } = fetching;
  const { clock, scrubber, version, signal, shared } = context;
  const { startFetcher } = await import("../../queue/remote/fetcher/fetch-worker.ts");
  const fetcher = await startFetcher({
    redisUrl,
    profiles,
    tokenOf: async (profile) => {
      const token = await resolveToken(profile);
      scrubber.hide(token);
      return token;
    },
    slots: config.maxFetches,
    identity: identityOf("fetch", version),
    clock,
    warn: (text) => logger.warn(text),
    tracer,
    unable,
  });
  try {
    const server = await serve(fetcher, fetching, context);
    try {
      if (server !== null && shared.json) await context.printJson({ url: server.url, role: "fetch" });
      const place = server === null ? "" : ` at ${server.url}`;
      logger.info(`fetching${place} for ${profiles.map(({ profile }) => profile).join(", ")}`);
      await untilStopped(signal);
    } finally {
      await server?.close();
    }
  } finally {
    logger.info("stopping");
    await fetcher.close(WORKER_GRACE_MS);
  }
};
