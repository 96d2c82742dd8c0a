// Sync run: options, dependencies and shared state of one run. The dispatcher decides the order of work
// (dispatcher.ts).
import type { Ledger } from "../../../budget/credits/local-ledger.ts";
import type { StreamName } from "../../../catalog/streams.ts";
import type { Clock } from "../../../core/clock.ts";
import type { ProgressSink } from "../../../core/report/sync-progress.ts";
import type { KnownTier, TierEvidence } from "../../../core/state/tier.ts";
import type { Tracer } from "../../../core/tracing.ts";
import type { Archive } from "../../../warehouse/archive/archive.ts";
import type { ArchiveStore } from "../../../warehouse/archive/read-archive.ts";
import type { ArchiveLimits } from "../../../warehouse/file/baseline/archive-limits.ts";
import type { PublishPolicy } from "../../../warehouse/file/publish-news.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { Beginning } from "../../list/events.ts";
import { type ListState, readingOf } from "../../list/state.ts";
import type { BudgetBook } from "../../plan/budgets/budget-book.ts";
import type { PlanOptions } from "../../plan/make-plan.ts";
import type { CallOptions } from "../../request/calls.ts";
import type { Fetcher } from "../../request/fetcher.ts";
import type { Sender } from "../../request/sender.ts";
import type { Committer } from "./committer.ts";
import type { Ending } from "./ending.ts";
import type { Forms } from "./forms.ts";
import type { OpenList } from "./open-list.ts";
import type { RunStats } from "./run-stats.ts";
import type { UnusableBook } from "./unusable-book.ts";
import type { Work } from "./work.ts";

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

/** A company profile answered with 404; `doubtful`: with text in place of JSON. */
export interface AbsentCompany {
  readonly list: OpenList;
  readonly doubtful: boolean;
}

/** State of one run. */
export interface SyncRun {
  readonly runId: string;
  readonly startedAt: number;
  readonly options: SyncOptions;
  /** The dependencies, with the signals of `ending`. */
  readonly deps: SyncDeps;
  readonly ending: Ending;
  readonly archive: Archive;
  readonly fetcher: Fetcher;
  readonly committer: Committer;
  readonly stats: RunStats;
  readonly budgets: BudgetBook;
  /** Lists and records whose answers could not be used. */
  readonly unusable: UnusableBook;
  readonly forms: Forms;
  readonly work: Work;
  /** Lists that lost rows and wait for the list of accounts, which shows whose rows may be gone. */
  readonly searching: OpenList[];
  /** Company lists that lost rows; decided together when their stream is done. */
  readonly losing: OpenList[];
  /** Company profiles answered with 404; decided together. */
  readonly absent: AbsentCompany[];
  /** Companies and owners that accounts embedded in this run; `whole`: a walk of all accounts, begun in this run, has ended. */
  readonly embedded: { readonly ids: Set<string>; readonly owners: Set<string>; whole: boolean };
  /** Companies of which a list that had rows answered 404. */
  readonly suspects: Set<string>;
  /** Rows of lists that this run read completely, per stream; the share of deletes refers to this number. */
  readonly compared: Map<StreamName, number>;
  /** The organization's tier; null: not yet known. */
  tier: KnownTier | null;
  /** Full Access lists are empty although the mirror holds rows. */
  tierLowered: boolean;
  /** A list of the Full Access tier was not empty in this run, so the organization has that tier. */
  fullAccess: boolean;
}

/** With what a reading of the list begins now. */
export const beginningOf = (run: SyncRun, { stream }: Pick<OpenList, "stream">): Beginning => ({
  ...{ runId: run.runId, now: run.deps.clock.now(), shape: run.forms.ofStream(stream.name) },
});

/**
 * True when a company may be gone: its profile is asked for, which costs nothing if it is. `tracked`: an account links to
 * it, so that accounts would bring it along.
 */
export const isSuspect = (
  { embedded, suspects }: Pick<SyncRun, "embedded" | "suspects">,
  companyId: string,
  tracked = true,
): boolean =>
  !embedded.ids.has(companyId) && ((tracked && embedded.whole && embedded.ids.size > 0) || suspects.has(companyId));

/** True when this run has read a page of the list. */
export const hasGoneOn = (run: SyncRun, state: ListState): boolean => (readingOf(state)?.readAt ?? 0) >= run.startedAt;
