// duckmirror worker: syncs by schedule and on request until it is stopped; with Redis, together with other workers.
import { z } from "zod";
import type { Config } from "../../../core/config/config.ts";
import { type ListenAddress, parseListen } from "../../../core/config/listen-address.ts";
import { resolveTls } from "../../../core/config/secrets/tls-files.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import type { Logger } from "../../../core/log.ts";
import type { Secret } from "../../../core/secret.ts";
import type { Tracer } from "../../../core/tracing.ts";
import type { RunningWorker } from "../../../queue/asks.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { doorKeys } from "../../worker/door-keys.ts";
import { fetchUntilStopped } from "../../worker/fetching.ts";
import { identityOf } from "../../worker/identity.ts";
import { createWorkerLog, faultLog } from "../../worker/log.ts";
import { type ProfileWatch, watchProfiles } from "../../worker/profile-watch.ts";
import { servedProfile } from "../../worker/served-profile.ts";
import { untilStopped } from "../../worker/until-stopped.ts";

const ROLES = ["all", "fetch", "load"] as const;

const inputSchema = z.object({
  role: z.enum(ROLES, { error: `--role is one of ${ROLES.join(", ")}` }).default("all"),
  listen: z.string().optional(),
});
type Input = z.output<typeof inputSchema>;

const listenOf = ({ listen }: Input, config: Config): ListenAddress => {
  if (listen === undefined) return config.listen;
  const parsed = parseListen(listen);
  if (parsed !== null) return parsed;
  throw new DuckmirrorError("USAGE", { detail: `--listen ${listen} is not an address like 127.0.0.1:8737` });
};

const tell =
  (logger: Logger) =>
  (level: "info" | "warn" | "error", text: string): void =>
    logger[level](text);

/** Starts the worker's jobs: over Redis if configured, else in this process. */
const startSyncing = async (
  role: "all" | "load",
  profiles: readonly Config[],
  redisUrl: Secret | null,
  logger: Logger,
  emit: ReturnType<typeof createWorkerLog>["emit"],
  tracer: Tracer,
  unable: ProfileWatch["unable"],
  { clock, scrubber, version }: CommandContext,
): Promise<RunningWorker> => {
  const { engineRunner, engineVerifier } = await import("../../../queue/run-engine.ts");
  const random = Math.random;
  const engine = { clock, random, version, scrubber, tracer };
  const identity = identityOf(role, version);
  const base = { profiles, clock, random, scrubber, log: tell(logger), emit, tracer, unable };
  if (redisUrl === null) {
    const { startLocalWorker } = await import("../../../queue/local/worker.ts");
    return startLocalWorker({ ...base, run: engineRunner(engine), verify: engineVerifier(engine) });
  }
  const { startWorker } = await import("../../../queue/bullmq/worker.ts");
  if (role === "load") {
    const { remoteAccess } = await import("../../../queue/remote/loader/remote-access.ts");
    const connect = remoteAccess({ redisUrl, warn: (text) => logger.warn(text) });
    const remote = { ...engine, connect };
    return startWorker({
      ...base,
      redisUrl,
      identity,
      run: () => engineRunner(remote),
      verify: () => engineVerifier(remote),
    });
  }
  const { sharedAccess } = await import("../../../queue/bullmq/shared-access.ts");
  return startWorker({
    ...base,
    redisUrl,
    identity,
    run: (connection) => engineRunner({ ...engine, connect: sharedAccess(connection) }),
    verify: (connection) => engineVerifier({ ...engine, connect: sharedAccess(connection) }),
  });
};

/** The page of the queues, if there are any. */
const queuePage = async ({ board }: RunningWorker) => {
  if (board === undefined) return undefined;
  const { queueBoard } = await import("../../../server/queue-board.ts");
  return queueBoard(board);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--role <role>", "all, fetch (only sends requests) or load (only holds warehouses); needs Redis")
      .option(
        "--listen <address>",
        "address and port of its page and API (default: 127.0.0.1:8737; port 0: any); a fetcher has none by default, and only health and metrics",
      ),
  examples: {
    "duckmirror worker": "syncs as `schedule` says, and when it is asked to",
    "REDIS_URL=redis://localhost:6379 duckmirror worker": "the same on BullMQ: what is queued outlives it",
    "duckmirror worker --role load": "where the warehouses are; requests are sent by fetchers",
    "duckmirror worker --role fetch --listen 127.0.0.1:8738": "a fetcher with /healthz, /readyz and /metrics",
    "duckmirror worker --role fetch": "on any number of machines with the same REDIS_URL and configuration",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { clock, version, scrubber, signal, shared } = context;
    const configs = await context.loadProfiles();
    const [config] = configs;
    if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
    const { redisUrl } = config;
    if (input.role !== "all" && redisUrl === null) {
      throw new DuckmirrorError("USAGE", { detail: `--role ${input.role} needs REDIS_URL (redis_url)` });
    }
    const logger = await context.logger(config);
    const { unable } = await watchProfiles(configs, input.role === "fetch" ? "fetch" : "load", logger, context);
    // Its runs do not belong to the trace of the process that started the worker.
    const tracer = await context.tracer(config, null);
    if (input.role === "fetch" && redisUrl !== null) {
      const listen = input.listen === undefined ? null : listenOf(input, config);
      await fetchUntilStopped({ profiles: configs, config, redisUrl, listen, logger, tracer, unable }, context);
      context.onHeld?.();
      return EXIT.done;
    }
    const listen = listenOf(input, config);
    const { key, keyFile, madeIn } = await doorKeys(config, listen);
    const tls = await resolveTls(config);
    if (key !== null) scrubber.hide(key);
    const { startServer } = await import("../../../server/listen.ts");
    const log = createWorkerLog(logger, clock, config.logFormat);
    const worker = await startSyncing(
      input.role === "load" ? "load" : "all",
      configs,
      redisUrl,
      logger,
      log.emit,
      tracer,
      unable,
      context,
    );
    try {
      const server = await startServer(
        {
          profiles: configs.map((profile) => servedProfile(profile, { ...context, warn: (text) => logger.warn(text) })),
          key,
          keyFile,
          tls,
          clock,
          version,
          triggers: { ...worker.triggers, listen: log.listen },
          ...(worker.fleet === undefined ? {} : { fleet: worker.fleet }),
          unable,
          onFault: faultLog(logger),
        },
        listen,
        await queuePage(worker),
      );
      try {
        if (shared.json) await context.printJson({ url: server.url, role: input.role });
        if (madeIn !== null) logger.info(`the key of its page is in ${madeIn}`);
        const broken = new Set(unable().map(({ profile }) => profile));
        const able = configs.map(({ profile }) => profile).filter((profile) => !broken.has(profile));
        logger.info(`worker ready at ${server.url} for ${able.join(", ")}`);
        await untilStopped(signal);
      } finally {
        await server.close();
      }
    } finally {
      logger.info("stopping: what is under way ends at its next checkpoint");
      await worker.stop();
      // Jobs that wait for a Redis that is gone would keep the process alive.
      context.onHeld?.();
    }
    return EXIT.done;
  },
});
