// duckmirror worker: syncs by schedule and on request until it is stopped; with Redis, together with other workers.

import { once } from "node:events";
import { hostname } from "node:os";
import { z } from "zod";
import type { ListenAddress } from "../../../core/config/setting-parsers.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import type { Logger } from "../../../core/log.ts";
import type { Tracer } from "../../../core/tracing.ts";
import type { RunningWorker } from "../../../queue/requests/sync-requests.ts";
import { type CommandContext, defineCommand, option, optionOf, type Profiles } from "../../command.ts";
import { listenOf, resolveAccess, type ServerAccess, serverOptions } from "../../worker/access-keys.ts";
import { createWorkerLog } from "../../worker/log.ts";
import { nextSyncOf, type ProfileWatch, servedProfile, watchProfiles } from "../../worker/served-profile.ts";

const logTo =
  (logger: Logger) =>
  (level: "info" | "warn" | "error", text: string): void =>
    logger[level](text);

/** A worker that syncs, in this process or with others. */
interface Syncing {
  readonly profiles: Profiles;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly unable: ProfileWatch["unable"];
}

type WorkerLog = ReturnType<typeof createWorkerLog>;

/** Starts the worker's jobs: over Redis if configured, else in this process. `signal` ends what only waits for time. */
const startSyncing = async (
  { profiles, logger, tracer, unable }: Syncing,
  emit: WorkerLog["emit"],
  { clock, scrubber, version }: CommandContext,
  signal: AbortSignal,
): Promise<RunningWorker> => {
  const { engineRunner, engineVerifier } = await import("../../../queue/worker/run-engine.ts");
  const { watchMirrors } = await import("../../../warehouse/file/empty-mirror.ts");
  const random = Math.random;
  const [{ redisUrl }] = profiles;
  const dataDirs = profiles.map(({ dataDir }) => dataDir);
  const engine = { clock, random, version, scrubber, tracer, mirrors: watchMirrors(dataDirs, { clock, signal }) };
  const identity = { version, host: hostname(), pid: process.pid };
  const base = { profiles, clock, random, scrubber, log: logTo(logger), emit, tracer, unable };
  if (redisUrl === null) {
    const { startLocalWorker } = await import("../../../queue/worker/local-worker.ts");
    return startLocalWorker({ ...base, run: engineRunner(engine), verify: engineVerifier(engine) });
  }
  const { startWorker } = await import("../../../queue/worker/redis-worker.ts");
  const { sharedAccess } = await import("../../../queue/worker/shared-access.ts");
  return startWorker({
    ...base,
    redisUrl,
    identity,
    run: (connection) => engineRunner({ ...engine, connect: sharedAccess(connection) }),
    verify: (connection) => engineVerifier({ ...engine, connect: sharedAccess(connection) }),
  });
};

/** Serves the page and the API of a running worker until it is stopped. */
const serveUntilStopped = async (
  worker: RunningWorker,
  { profiles, listen, logger, unable }: Syncing,
  access: ServerAccess,
  hear: WorkerLog["listen"],
  context: CommandContext,
): Promise<void> => {
  const { clock, signal, shared } = context;
  const { madeIn } = access;
  const { startServer } = await import("../../../server/app.ts");
  const server = await startServer(
    {
      profiles: profiles.map((profile) => ({
        ...servedProfile(profile, context, (text) => logger.warn(text)),
        nextSyncAt: () => nextSyncOf(profile, clock.now()),
      })),
      ...serverOptions(profiles[0], access, context, logger),
      triggers: { ...worker.triggers, listen: hear },
      ...(worker.fleet === undefined ? {} : { fleet: worker.fleet }),
      unable,
    },
    listen,
  );
  try {
    if (shared.json) await context.printJson({ url: server.url });
    if (madeIn !== null) logger.info(`the key of its page is in ${madeIn}`);
    const broken = new Set(unable().map(({ profile }) => profile));
    const able = profiles.map(({ profile }) => profile).filter((profile) => !broken.has(profile));
    logger.info(`worker ready at ${server.url} for ${able.join(", ")}`);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await server.close();
  }
};

const syncUntilStopped = async (syncing: Syncing, context: CommandContext, ended: AbortSignal): Promise<void> => {
  const { profiles, listen, logger } = syncing;
  const [config] = profiles;
  const access = await resolveAccess(config, listen, context.scrubber);
  const log = createWorkerLog(logger, context.clock, config.logFormat);
  const worker = await startSyncing(syncing, log.emit, context, ended);
  try {
    await serveUntilStopped(worker, syncing, access, log.listen, context);
  } finally {
    logger.info("stopping: what is under way ends at its next checkpoint");
    await worker.stop();
    // Jobs that wait for a Redis that is gone would keep the process alive.
    context.onHeld?.();
  }
};

export const command = defineCommand({
  examples: {
    "duckmirror worker": "syncs as `schedule` says, and when it is asked to",
    "REDIS_URL=redis://localhost:6379 duckmirror worker": "the same with Redis: queued work survives the process",
  },
  input: z.object({
    // Refused: fetchers on other machines are gone.
    role: optionOf(z.string().optional(), { value: "<role>", summary: "", adapt: (one) => one.hideHelp() }),
    listen: option("<address>", "address and port of its page and API (default: 127.0.0.1:8737; port 0: any)"),
  }),
  run: async (input, context) => {
    if (input.role !== undefined) throw new DuckmirrorError("ROLE_REMOVED", { role: input.role });
    const profiles = await context.loadProfiles();
    const [config] = profiles;
    const logger = await context.logger(config);
    // What only waits for time ends with the command, also when it cannot start.
    const ended = new AbortController();
    const { clock, version, scrubber } = context;
    const watching = { clock, version, scrubber, signal: AbortSignal.any([context.signal, ended.signal]) };
    try {
      const { unable } = await watchProfiles(profiles, logger, watching);
      // Its runs do not belong to the trace of the process that started the worker.
      const tracer = await context.tracer(config, null);
      const syncing = { profiles, listen: listenOf(input.listen, config), logger, tracer, unable };
      await syncUntilStopped(syncing, context, watching.signal);
    } finally {
      ended.abort();
    }
    return EXIT.done;
  },
});
