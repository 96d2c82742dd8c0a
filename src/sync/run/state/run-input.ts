// Input of a run: the caller's options, and the dependencies (warehouse, sender, clock, ...) that the caller opens and closes. A run
// changes none of it.
import type { Ledger } from "../../../budget/credits/local-ledger.ts";
import type { StreamName } from "../../../catalog/streams.ts";
import type { Clock } from "../../../core/clock.ts";
import type { ProgressSink } from "../../../core/report/sync-progress.ts";
import type { KnownTier, TierEvidence } from "../../../core/state/tier.ts";
import type { Tracer } from "../../../core/tracing.ts";
import type { ArchiveStore } from "../../../warehouse/archive/read-archive.ts";
import type { ArchiveLimits } from "../../../warehouse/file/baseline/archive-limits.ts";
import type { PublishPolicy } from "../../../warehouse/file/publish-if-changed.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { PlanOptions } from "../../plan/make-plan.ts";
import type { CallOptions } from "../../request/calls.ts";
import type { Sender } from "../../request/turn.ts";

export interface DeleteGuard {
  /** Largest share of the compared rows that may be deleted at once. */
  readonly maxShare: number;
  readonly allowMassDelete: boolean;
}

/** Options of a sync. */
export interface SyncOptions extends PlanOptions, CallOptions, DeleteGuard {
  /** Run id chosen by the caller; null: a new one. */
  readonly runId: string | null;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** Requests that may be in flight however large responses are. */
  readonly largeInFlight: number;
  /** Streams that this mirror should hold, including those that this run does not read. */
  readonly configured: readonly StreamName[];
  /** Limits of the archive; null: nothing of it may be removed. */
  readonly archiveLimits: ArchiveLimits | null;
  /** Days that old versions and the ledger are kept; null: for ever. */
  readonly historyRetentionDays: number | null;
  readonly ledgerRetentionDays: number | null;
  /** Move rows outside the setting `scope` to history. */
  readonly eraseOutside: boolean;
  readonly publish: PublishPolicy;
}

/** The organization's tier, kept between runs. */
export interface TierBook {
  readonly known: KnownTier | null;
  /** Adds evidence; returns what is known then. */
  learn(evidence: TierEvidence): Promise<KnownTier | null>;
}

/** Dependencies of a sync. The caller opens and closes all of them. */
export interface SyncDeps {
  readonly warehouse: Warehouse;
  readonly archive: ArchiveStore;
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly tier: TierBook;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /**
   * Aborting it ends the run cleanly: unfinished requests are completed and committed. If its reason is an error
   * other than INTERRUPTED, the run stops with that error.
   */
  readonly signal: AbortSignal;
  /** Aborting it also abandons unfinished requests; unset: never. */
  readonly hardSignal?: AbortSignal | undefined;
  /** Time limit for unfinished requests once the run ends, ms; unset: no limit. */
  readonly graceMs?: number | undefined;
  /** Parent of its spans; unset: no tracing. */
  readonly tracer?: Tracer;
  /** Called when a request begins to wait for rate or response; the returned function at its end. */
  readonly onWait?: (() => () => void) | undefined;
}

/** What stays the same in a run. */
export interface RunConstants {
  readonly runId: string;
  readonly startedAt: number;
  readonly options: SyncOptions;
  /** The dependencies, with the signals of the run's ending. */
  readonly deps: SyncDeps;
}
