import type { KnownTier } from "../../../core/state/tier.ts";
import type { Archive } from "../../../warehouse/archive/archive.ts";
import type { Beginning } from "../../list/events.ts";
import { type ListState, readingOf } from "../../list/state.ts";
import type { BudgetBook } from "../../plan/budgets/budget-book.ts";
import type { Fetcher } from "../../request/fetcher.ts";
import type { Committer } from "./committer.ts";
import type { Ending } from "./ending.ts";
import type { Forms } from "./forms.ts";
import type { Gone } from "./gone.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncDeps, SyncOptions } from "./run-input.ts";
import type { RunStats } from "./run-stats.ts";
import type { UnusableBook } from "./unusable-book.ts";
import type { Work } from "./work.ts";

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
  readonly gone: Gone;
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

/** True when this run has read a page of the list. */
export const hasGoneOn = (run: SyncRun, state: ListState): boolean => (readingOf(state)?.readAt ?? 0) >= run.startedAt;
