// Job sync: mirrors what is due. Opens the engine from the configuration, runs one sync, closes it. Independent of
// queues.
import { isStreamName, STREAM_NAMES } from "../src/catalog/streams.ts";
import type { Config } from "../src/core/config/config.ts";
import { largeInFlight } from "../src/core/config/memory-plan.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import { withFollowing } from "../src/core/state/following.ts";
import { readChecked } from "../src/core/state/last-check.ts";
import { noteProgress } from "../src/core/state/progress-file.ts";
import { didYouMean } from "../src/core/text/did-you-mean.ts";
import { inSpan, noTracer } from "../src/core/tracing.ts";
import { countsFromCheck } from "../src/sync/plan/capabilities.ts";
import { runSync, type SyncResult } from "../src/sync/run/run-sync.ts";
import { withinTime } from "../src/sync/run/state/ending.ts";
import type { SyncOptions } from "../src/sync/run/state/run-input.ts";
import { noteRules } from "../src/warehouse/file/baseline/baseline.ts";
import { removeOutdated } from "../src/warehouse/file/upkeep/history-retention.ts";
import { warehousePaths } from "../src/warehouse/file/working-file.ts";
import { firstStartOf, unusedRunId } from "../src/warehouse/read/read-run.ts";
import { type JobContext, traceSync, withEngine } from "./engine.ts";
import { eraseAsked } from "./following.ts";
import { enterHome } from "./home.ts";
import { fieldRules } from "./replay.ts";
import { extentOf, type RequestedExtent } from "./requested-extent.ts";

/** Request of one sync. */
export interface SyncRequest extends RequestedExtent {
  /** End cleanly after this time, ms. */
  readonly maxDurationMs?: number | null | undefined;
  /** Delete even if a list turned empty or lost more than `max_delete_share`. */
  readonly allowMassDelete?: boolean | undefined;
  /** Id of the run, or its prefix if a run has it already; unset: a new id. */
  readonly runId?: string;
  /** The caller named exactly these streams; unset: true when `streams` is not empty. */
  readonly named?: boolean;
  /** W3C `traceparent` of the caller. */
  readonly traceparent?: string | undefined;
  /** Move rows outside the setting `scope` to history. */
  readonly eraseOutside?: boolean;
}

/** Options of a sync or plan, from configuration and request. */
export const syncOptions = (config: Config, request: SyncRequest): SyncOptions => {
  const { full = false, allowMassDelete = false } = request;
  const unknown = request.streams?.find((name) => !isStreamName(name));
  if (unknown !== undefined) {
    const detail = `${unknown} is not a stream (${STREAM_NAMES.join(", ")}).${didYouMean(unknown, STREAM_NAMES)}`;
    throw new DuckmirrorError("USAGE", { detail });
  }
  const { reset, since, streams } = extentOf(config, request);
  const wanted = streams.length > 0 ? streams : (config.streams ?? STREAM_NAMES);
  return {
    reset,
    since,
    streams: STREAM_NAMES.filter((name) => wanted.includes(name)),
    configured: STREAM_NAMES.filter((name) => config.streams === null || config.streams.includes(name)),
    named: request.named ?? streams.length > 0,
    full,
    // A scope of accounts only has no use for companies without an account.
    companies: config.rowScope.companies?.accounts_only === true ? [] : config.companies,
    content: config.content,
    view: config.view,
    usage: config.usage,
    organizationId: config.usage.organizationId,
    excludeFields: config.excludeFields,
    maxAgeMs: config.maxAgeMs,
    reconcileEveryMs: config.reconcileEveryMs,
    budgets: config.budgets,
    rowScope: config.rowScope,
    largestPage: config.maxPageSize,
    maxShare: config.maxDeleteShare,
    allowMassDelete,
    runId: request.runId ?? null,
    concurrency: config.concurrency,
    largeInFlight: largeInFlight(config.memory),
    archiveLimits: config.archiveLimits,
    historyRetentionDays: config.historyRetentionDays,
    publish: config.publish,
    ledgerRetentionDays: config.ledgerRetentionDays,
    eraseOutside: request.eraseOutside ?? false,
  };
};

/** Runs one sync. Throws WRITER_BUSY, configuration errors and faults; all other endings are in the result. */
export const syncJob = async (given: Config, request: SyncRequest, context: JobContext): Promise<SyncResult> => {
  const { tracer = noTracer } = context;
  const { profile } = given;
  const more = { traceparent: request.traceparent, attributes: { "duckmirror.profile": profile } };
  return inSpan(
    tracer,
    "sync",
    (span) =>
      withinTime(context, request.maxDurationMs ?? null, async (signal) => {
        const isNew = await enterHome(given, context.clock);
        const config = await withFollowing(given);
        const counted = countsFromCheck(await readChecked(config.dataDir), config.rowScope);
        const options = { ...syncOptions(config, request), ...counted };
        const { state } = warehousePaths(config.dataDir);
        const noted = noteProgress(config.dataDir, context.clock, context.emit);
        const timed = { ...context, signal, tracer: span, emit: noted.emit };
        return withEngine(config, timed, config.maxCredits, async (deps) => {
          noted.begin();
          const erased = await eraseAsked(given, deps.warehouse, context.clock);
          await removeOutdated(config.dataDir, context.clock.now());
          // Under the writer's lock, so that no other run takes the same id: request ids contain the run id.
          const runId = options.runId === null ? null : await unusedRunId(deps.warehouse.database, options.runId);
          const fullSince = options.runId === null ? null : await firstStartOf(deps.warehouse.database, options.runId);
          const mixed = await noteRules(state, fieldRules(config), isNew);
          const archiveLimits = mixed ? null : options.archiveLimits;
          const publish = { ...options.publish, hasErased: erased > 0 || options.eraseOutside };
          const own = { archiveLimits, publish, runId, syncId: options.runId, fullSince };
          const result = await runSync({ ...options, ...own }, deps);
          traceSync(span, result.report, result.error);
          return result;
        }).finally(noted.end);
      }),
    more,
  );
};
