// Fetchers and a loader with a Redis of their own and a fake service, in one process; everything is gone after the test.
import { syncJob } from "../../../../jobs/sync.ts";
import { organizationKey } from "../../../../src/budget/store/in-redis.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { Config } from "../../../../src/core/config/config.ts";
import { Secret } from "../../../../src/core/secret.ts";
import {
  type FetchRole,
  type FetchRoleOptions,
  startFetcher,
} from "../../../../src/queue/remote/fetcher/fetch-worker.ts";
import { remoteAccess } from "../../../../src/queue/remote/loader/remote-access.ts";
import { createSeals } from "../../../../src/queue/remote/seals.ts";
import type { Parcel } from "../../../../src/sync/request/sender.ts";
import type { SyncResult } from "../../../../src/sync/run/run-sync.ts";
import { openArchive } from "../../../../src/warehouse/archive/archive.ts";
import { openWarehouse, type Warehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { afterTest } from "../../../support/after-test.ts";

export const TOKEN = new Secret("test-token");

/** What loaders and fetchers of a configuration know each other by. */
export const sealsOf = ({ baseUrl }: Config, token = TOKEN) => {
  const organization = organizationKey(baseUrl ?? "", token.reveal());
  return { organization, seals: createSeals(token, organization) };
};

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
    identity: { role: "fetch", version: "0.0.0", host: "test-host", pid: 1 },
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
  return { ...role, close };
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
      connect: remoteAccess({ redisUrl: new Secret(redis.url), warn: () => undefined }),
    },
  );
  return { result, stop, breakOff };
};

/** A loader by hand: connected, its warehouse open, nothing planned. */
export const aLoader = async (
  redis: { readonly url: string },
  config: Config,
  warn: (text: string) => void = () => undefined,
) => {
  const connect = remoteAccess({ redisUrl: new Secret(redis.url), warn });
  const connection = await connect(config, { clock: systemClock, version: "0.0.0", token: TOKEN });
  const warehouse = await openWarehouse({ dataDir: config.dataDir, clock: systemClock });
  const unsent = await connection.takeOver(warehouse, null);
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= connection.close().then(() => warehouse.close());
    return closed;
  };
  afterTest(close);
  return { ...connection, warehouse, unsent, close };
};

/** The first page of accounts, as a run asks for it. */
export const aParcel = (requestId: string, runId: string): Parcel => ({
  requestId,
  runId,
  call: { endpoint: "listAccounts", path: "/v1/accounts", query: { page: "1", perPage: "25" } },
  about: {
    stream: "accounts",
    scope: "",
    walkId: null,
    url: "/v1/accounts?page=1&perPage=25",
    detail: { read: null, overlap: null },
  },
});

/** Begins a run and announces a request of it, as a sync does before it sends. */
export const announced = async (warehouse: Warehouse, parcel: Parcel): Promise<void> => {
  const { runId, requestId, about } = parcel;
  const startedAt = Date.now();
  await warehouse.startRun({ runId, mode: "full", startedAt, forecast: null });
  const archive = openArchive({ dir: warehouse.archiveDir, runId, now: startedAt });
  await archive.intent({ requestId, runId, stream: "accounts", scope: "", url: about.url, sentAt: startedAt });
  await archive.close();
};
