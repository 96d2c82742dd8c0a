// Job sync: mirrors what is due. Opens what a run needs from the configuration, runs it, closes it. Knows no queue.
import { setMaxListeners } from "node:events";
import { createClient } from "../src/api/client.ts";
import { createLedger } from "../src/budget/memory-store.ts";
import { createThrottle } from "../src/budget/throttle.ts";
import { isStreamName, STREAM_NAMES, type StreamName } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { ProgressSink } from "../src/core/progress-events.ts";
import type { Secret } from "../src/core/secret.ts";
import { readLastQuota } from "../src/sync/mirror-view.ts";
import { runSync, type SyncResult } from "../src/sync/run-sync.ts";
import type { SyncOptions } from "../src/sync/sync-run.ts";
import { openWarehouse } from "../src/warehouse/warehouse.ts";

/** What is asked of one sync. */
export interface SyncRequest {
  /** Streams to look at; empty: those of the configuration. */
  readonly streams: readonly string[];
  /** Walk every list completely, whatever is known. */
  readonly full: boolean;
  /** ms; null: as long as it takes. */
  readonly maxDurationMs: number | null;
  readonly allowMassDelete: boolean;
}

/** What a job is given from outside. */
export interface JobContext {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /** Aborts when the run should end: finish the page, commit, return. */
  readonly signal: AbortSignal;
  /** Aborts when even the page under way should be given up. */
  readonly hardSignal: AbortSignal;
  readonly version: string;
  readonly token: Secret;
}

const streamsOf = (config: Config, request: SyncRequest): readonly StreamName[] => {
  const wanted = request.streams.length > 0 ? request.streams : (config.streams ?? STREAM_NAMES);
  return STREAM_NAMES.filter((name) => wanted.includes(name));
};

/** Options of a sync or plan, from the configuration and what was asked. */
export const syncOptions = (config: Config, request: SyncRequest): SyncOptions => {
  const unknown = request.streams.find((name) => !isStreamName(name));
  if (unknown !== undefined) {
    throw new DuckmirrorError("USAGE", { detail: `${unknown} is not a stream (${STREAM_NAMES.join(", ")})` });
  }
  return {
    streams: streamsOf(config, request),
    named: request.streams.length > 0,
    full: request.full,
    companies: config.companies,
    content: config.content,
    view: config.view,
    maxAgeMs: config.maxAgeMs,
    reconcileEveryMs: config.reconcileEveryMs,
    largestPage: config.maxPageSize,
    maxShare: config.maxDeleteShare,
    allowMassDelete: request.allowMassDelete,
    concurrency: config.concurrency,
    maxDurationMs: request.maxDurationMs,
    archiveRetentionDays: config.archiveRetentionDays,
    historyRetentionDays: config.historyRetentionDays,
  };
};

/** Runs one sync. Throws WRITER_BUSY, configuration errors and faults; everything else stands in the result. */
export const syncJob = async (config: Config, request: SyncRequest, context: JobContext): Promise<SyncResult> => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const { clock, token, version } = context;
  const options = syncOptions(config, request);
  // Every request in flight listens to these: Node would warn of a leak at the eleventh.
  setMaxListeners(0, context.signal, context.hardSignal);
  const client = createClient({
    baseUrl: config.baseUrl,
    token,
    version,
    clock,
    timeouts: config.timeouts,
    maxBodyBytes: config.maxBodyBytes,
    connections: config.concurrency,
    allowPlainHttp: config.allowPlainHttp,
  });
  try {
    const warehouse = await openWarehouse({ dataDir: config.dataDir, clock });
    try {
      const lastQuota = await readLastQuota(warehouse.database);
      const ledger = createLedger({
        clock,
        maxCredits: config.maxCredits,
        reserve: config.reserveCredits,
        pace: config.pace,
        runEveryMs: config.syncEveryMs,
        ...(lastQuota === null ? {} : { lastQuota }),
      });
      const throttle = createThrottle({ clock, configured: config.rateLimitPerMinute });
      return await runSync(options, { ...context, warehouse, client, throttle, ledger });
    } finally {
      await warehouse.close();
    }
  } finally {
    await client.close();
  }
};
