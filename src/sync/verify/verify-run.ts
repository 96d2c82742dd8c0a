// A running `verify`: what its checks share, and `sendCheck`, which sends one of its requests within its credits. Commits the ledger rows
// of every request without a usable response; the caller decides whether to load the rows of the others.
import type { ApiCall, OkOutcome } from "../../api/outcome.ts";
import type { StreamName } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { RequestRecord, ScopeState, TableLoad } from "../../warehouse/record/checkpoint.ts";
import type { ListForm } from "../list/form.ts";
import type { BudgetTracker } from "../plan/budgets.ts";
import type { Fetcher } from "../request/fetcher.ts";
import { fetchExtra } from "../run/reconcile/extra-requests.ts";
import type { Ending } from "../run/state/ending.ts";
import type { SyncDeps, SyncOptions } from "../run/state/run-input.ts";

export interface VerifyRun {
  readonly runId: string;
  readonly options: SyncOptions;
  /** Dependencies of a sync, with the signals of `ending`. */
  readonly deps: SyncDeps;
  /** Reason why no further request is possible. */
  readonly ending: Ending;
  readonly fetcher: Fetcher;
  readonly budgets: BudgetTracker;
  readonly shapes: ReadonlyMap<StreamName, ListForm>;
  readonly states: ReadonlyMap<string, ScopeState>;
  /** Load and delete differences. */
  readonly repair: boolean;
  /** `totalCount` of whole lists seen in this run, by stream. */
  readonly totals: Map<StreamName, number>;
  /** Lists that hold as many rows as when their counts last agreed (`settledLists`). */
  readonly settled: ReadonlySet<string>;
  /** Streams that changed at the service since they were read, as checks of this run showed. */
  readonly moved: Set<StreamName>;
  /** Makes archived responses durable, then commits. */
  readonly commit: (requests: readonly RequestRecord[], loads: readonly TableLoad[]) => Promise<void>;
  credits: number;
}

export interface CheckRequest {
  readonly stream: StreamName;
  /** Scope in the ledger: a company, an account, or empty. */
  readonly scope: string;
  readonly call: ApiCall;
}

export type CheckResponse =
  /** Not committed: the caller decides whether its rows are loaded. */
  | {
      readonly kind: "answer";
      readonly outcome: OkOutcome;
      readonly loads: readonly TableLoad[];
      readonly requests: readonly RequestRecord[];
    }
  /** `doubtful`: the 404 is text, not JSON, so a gateway may have sent it: nothing is deleted because of it. */
  | { readonly kind: "absent"; readonly doubtful: boolean }
  /** `mayHaveOwnForm`: one company's list refused the form of its stream's others. */
  | { readonly kind: "failed"; readonly note: string; readonly mayHaveOwnForm?: boolean }
  /** The run ends; `run.ending` has the reason. */
  | { readonly kind: "stopped" };

/** Sends one request, and commits it unless it was answered. */
export const sendCheck = async (run: VerifyRun, { stream, scope, call }: CheckRequest): Promise<CheckResponse> => {
  const asked = await fetchExtra(run, { stream, scope, call, work: "verify", walkId: null, granted: [] });
  if (asked === null) {
    run.ending.stop(new DuckmirrorError("BUDGET_REACHED", { budgets: run.budgets.cut().join(", ") }));
    return { kind: "stopped" };
  }
  const { result, requests, loads, misfit } = asked;
  run.credits += requests.filter(({ charge }) => charge === "spent").length;
  if (result.kind === "answer" && misfit === null) return { kind: "answer", outcome: result.outcome, loads, requests };
  await run.commit(requests, []);
  switch (result.kind) {
    case "answer":
      // Rows that a frozen table does not take are no repair.
      return { kind: "failed", note: new DuckmirrorError("SCHEMA_FROZEN", { stream, ...misfit }).message };
    case "absent":
      return { kind: "absent", doubtful: result.doubtful };
    case "adjust":
      return { kind: "failed", note: result.outcome.excerpt, mayHaveOwnForm: scope !== "" };
    case "failed":
      return { kind: "failed", note: result.error.message };
    case "no-credit":
      run.ending.stop(result.error);
      return { kind: "stopped" };
    case "ended":
      return { kind: "stopped" };
    default:
      return result satisfies never;
  }
};
