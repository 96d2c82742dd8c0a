// Fetchers and a loader with a Redis of their own and a fake service, in one process; everything is gone after the test.
import { syncJob } from "../../../../jobs/sync.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { Config } from "../../../../src/core/config.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { type FetchRole, type FetchRoleOptions, startFetcher } from "../../../../src/queue/remote/fetch-worker.ts";
import { remoteConnection } from "../../../../src/queue/remote/remote-connection.ts";
import type { SyncResult } from "../../../../src/sync/run-sync.ts";
import { afterTest } from "../worker-rig.ts";

export const TOKEN = new Secret("test-token");

/** A fetcher for these profiles, with times short enough for tests. */
export const aFetcher = async (
  redis: { readonly url: string },
  profiles: readonly Config[],
  more: Partial<FetchRoleOptions> = {},
): Promise<FetchRole> => {
  const role = await startFetcher({
    redisUrl: new Secret(redis.url),
    profiles,
    tokenOf: async () => TOKEN,
    slots: 64,
    version: "0.0.0",
    clock: systemClock,
    warn: () => undefined,
    ...more,
    times: { lock: 1_000, stalledCheck: 300, ...more.times },
  });
  let closed: Promise<void> | null = null;
  const close = (graceMs: number) => {
    closed ??= role.close(graceMs);
    return closed;
  };
  afterTest(() => close(500));
  return { close };
};

export interface Loading {
  readonly result: Promise<SyncResult>;
  /** Ends the run cleanly. */
  readonly stop: AbortController;
  /** Breaks it off. */
  readonly breakOff: AbortController;
}

/** Starts a sync whose requests are sent by fetchers. */
export const load = (redis: { readonly url: string }, config: Config): Loading => {
  const stop = new AbortController();
  const breakOff = new AbortController();
  const result = syncJob(
    config,
    { streams: [], full: false, maxDurationMs: null, allowMassDelete: false },
    {
      clock: systemClock,
      random: Math.random,
      emit: () => undefined,
      signal: stop.signal,
      hardSignal: breakOff.signal,
      version: "0.0.0",
      token: TOKEN,
      connect: remoteConnection({ redisUrl: new Secret(redis.url), warn: () => undefined }),
    },
  );
  return { result, stop, breakOff };
};
