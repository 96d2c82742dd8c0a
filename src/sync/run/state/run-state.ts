// Type of one sync run: its constants and its parts (fetcher, committer, forms, work, ...). Each part owns its state, and others change
// it by its methods alone. A function names the parts that it uses, `Run<"forms" | "work">`; only the begin and end take the whole run.
import type { BudgetTracker } from "../../plan/budgets.ts";
import type { Fetcher } from "../../request/fetcher.ts";
import type { Committer } from "./committer.ts";
import type { Ending } from "./ending.ts";
import type { Forms } from "./forms.ts";
import type { ListEnds } from "./list-ends.ts";
import type { ListReader } from "./open-list.ts";
import type { RunConstants } from "./run-input.ts";
import type { RunStats } from "./run-stats.ts";
import type { RunTier } from "./run-tier.ts";
import type { SuspectedDeletions } from "./suspected-deletions.ts";
import type { UnusableResponses } from "./unusable-responses.ts";
import type { Work } from "./work.ts";

interface Parts {
  /** Why the run ends early. */
  readonly ending: Ending;
  readonly fetcher: Fetcher;
  readonly committer: Committer;
  readonly stats: RunStats;
  readonly budgets: BudgetTracker;
  /** Lists and records whose answers could not be used. */
  readonly unusable: UnusableResponses;
  readonly forms: Forms;
  readonly work: Work;
  readonly suspected: SuspectedDeletions;
  readonly tier: RunTier;
  readonly ends: ListEnds;
  readonly reader: ListReader;
}

/** A run as far as a function uses it. */
export type Run<Part extends keyof Parts = never> = RunConstants & Pick<Parts, Part>;

/** A whole run. */
export type SyncRun = Run<keyof Parts>;
