// Sync run: everything one run holds and the moves it can make with it: create a task, decide its next step, fetch a
// request of it, take the answer in, finish it. The order of the moves is the dispatcher's (dispatcher.ts).
import type { Ledger } from "../../budget/memory-store.ts";
import type { StreamName } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import type { ProgressSink } from "../../core/progress-events.ts";
import type { Tracer } from "../../core/tracing.ts";
import type { Archive } from "../../warehouse/archive/archive.ts";
import type { ArchiveStore } from "../../warehouse/archive/archive-store.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import { stateKey } from "../plan/candidate.ts";
import type { PlanOptions } from "../plan/plan-view.ts";
import type { CallOptions } from "../request/calls.ts";
import type { Fetcher } from "../request/fetcher.ts";
import { initialShape, type ListShape } from "../request/list-shape.ts";
import type { Sender } from "../request/sender.ts";
import type { ScopeTask } from "../task/scope-task.ts";
import type { Committer } from "./committer.ts";
import type { DeleteGuard } from "./deletes.ts";
import type { Ending } from "./ending.ts";
import type { RunStats } from "./run-stats.ts";

/** What a sync is to do. */
export interface SyncOptions extends PlanOptions, CallOptions, DeleteGuard {
  /** Id of the run, where whoever asked for it named one; null: a new one. */
  readonly runId: string | null;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** Streams this mirror is to hold, also those this run does not read. */
  readonly configured: readonly StreamName[];
  /** Days that archived answers and old versions are kept; null: for ever. */
  readonly archiveRetentionDays: number | null;
  readonly historyRetentionDays: number | null;
}

/** What a sync works with. The caller opens and closes all of it. */
export interface SyncDeps {
  readonly warehouse: Warehouse;
  readonly archive: ArchiveStore;
  readonly sender: Sender;
  /** Requests of earlier runs that were announced but certainly never left. */
  readonly unsent: ReadonlySet<string>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /**
   * Aborting it ends the run cleanly: what is under way is finished and committed. With an error other than INTERRUPTED
   * as its reason, that error is why the run stopped.
   */
  readonly signal: AbortSignal;
  /** Aborting it breaks off what is under way, too; unset: never. */
  readonly hardSignal?: AbortSignal | undefined;
  /** How long requests on the wire are waited for once the run ends, ms; unset: as long as they take. */
  readonly graceMs?: number | undefined;
  /** What its spans stand in; unset: nothing is traced. */
  readonly tracer?: Tracer;
}

/** State of one run. */
export interface SyncRun {
  readonly runId: string;
  readonly startedAt: number;
  readonly options: SyncOptions;
  /** Its signals are those of `ending`. */
  readonly deps: SyncDeps;
  readonly ending: Ending;
  readonly archive: Archive;
  readonly fetcher: Fetcher;
  readonly committer: Committer;
  readonly stats: RunStats;
  readonly shapes: Map<StreamName, ListShape>;
  /** Rows the mirror holds per list. */
  readonly rows: Map<string, number>;
  /** Tasks under way, by `stateKey`. */
  readonly active: Map<string, ScopeTask>;
  /** Scopes this run has dealt with or is dealing with. */
  readonly taken: Set<string>;
  /** Company lists that lost rows: decided together when their stream is through. */
  readonly losing: ScopeTask[];
  /** Company profiles that were answered with 404: decided together. */
  readonly absent: ScopeTask[];
  /** Rows of the lists that were read completely in this run, per stream: what a share of deletes is measured by. */
  readonly compared: Map<StreamName, number>;
  /** Full Access lists came back empty although the mirror holds rows. */
  tierLowered: boolean;
  /** The accounts list held rows in this run: the organization has Full Access. */
  fullAccess: boolean;
  /** Something finished that may make other scopes due. */
  replan: boolean;
  /** Failures in a row that concern the service as a whole. */
  failuresInARow: number;
}

/** The list's shape, from the largest page where nothing is known yet. */
export const shapeOf = (run: SyncRun, stream: StreamName): ListShape =>
  run.shapes.get(stream) ?? initialShape(run.options.largestPage);

export const taskKey = (task: ScopeTask): string => stateKey(task.candidate.stream, task.candidate.scope);
