// How a run ended: all due work is done, or the error that says why not.
import { streamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { RunStatus } from "../../core/report/sync-report.ts";
import { readLastQuota } from "../plan/credits.ts";
import { missingParents, readCompleteness } from "./state/completeness.ts";
import type { Run } from "./state/run-state.ts";
import { reportWaiting } from "./state/unusable-book.ts";

export interface End {
  readonly status: RunStatus;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

/** The error of a run without credits, with the end of the period; `report`: the one that the time comes from. */
export const untilReset = (stop: DuckmirrorError, resetsAt: number, report: "own" | "earlier"): DuckmirrorError => {
  if (stop.context.until) return stop;
  const end = new Date(resetsAt).toISOString();
  // An earlier report may be outdated, because credits can be bought.
  const until = report === "own" ? ` until ${end}` : `; by its last report the period ends at ${end}`;
  return new DuckmirrorError("QUOTA_SPENT", { until });
};

/** Adds the end of the quota period to the error of a run without credits, from this run's or an earlier report. */
const tellReset = async (run: Run, stop: DuckmirrorError): Promise<DuckmirrorError> => {
  const { ledger, warehouse, clock, emit } = run.deps;
  if (stop.code !== "QUOTA_SPENT") return stop;
  const own = ledger.snapshot().resetsAt;
  const resetsAt = own ?? (await readLastQuota(warehouse.database))?.resetsAt ?? null;
  if (resetsAt === null || resetsAt <= clock.now()) return stop;
  emit({ kind: "waiting", why: "quota", until: resetsAt, stream: null });
  return untilReset(stop, resetsAt, own === null ? "earlier" : "own");
};

/** Marks streams below accounts or companies as failed, with advice, when none of these are known. */
const noteMissingParents = async (run: Run<"stats" | "tier">): Promise<void> => {
  const { warehouse, emit } = run.deps;
  if (run.tier.isPublic) return;
  if ((await warehouse.scopeStates("accounts")).length > 0) return;
  const proven = await readCompleteness(warehouse.database);
  for (const name of run.options.streams) {
    const stats = run.stats.of(name);
    const error = missingParents(streamSpec(name), { proven, requests: stats.requests });
    if (error === null || stats.failed !== null) continue;
    stats.failed = `${error.code}: ${error.message}`;
    emit({ kind: "note", level: "warn", text: `${error.message} ${error.hint}` });
  }
};

/** End of a run that nothing stopped. `failed`: streams; `cut`: budgets that left work out. */
export const endOfWork = (failed: readonly string[], cut: readonly string[]): End => {
  if (failed.length > 0) {
    return { status: "partial", error: new DuckmirrorError("STREAMS_FAILED", { streams: failed.join(", ") }) };
  }
  if (cut.length === 0) return { status: "done", error: null };
  return { status: "stopped", error: new DuckmirrorError("BUDGET_REACHED", { budgets: cut.join(", ") }) };
};

/** End of the run, from failed streams and the reason for stopping. Throws the fault that ended it. */
export const endOf = async (
  run: Run<"budgets" | "ending" | "fetcher" | "stats" | "tier" | "unusable">,
): Promise<End> => {
  const reason = run.ending.reason();
  switch (reason?.kind) {
    case "failed":
      throw reason.fault;
    case "stopped": {
      const error = await tellReset(run, reason.error);
      return { status: error.exitCode === EXIT.budget ? "stopped" : "failed", error };
    }
    case "interrupted":
      return { status: "interrupted", error: new DuckmirrorError("INTERRUPTED") };
    case undefined: {
      const refused = run.fetcher.tokenRefused();
      if (refused !== null) return { status: "failed", error: refused };
      await noteMissingParents(run);
      reportWaiting(run.unusable.waiting, { streams: run.options.streams, of: run.stats.of, emit: run.deps.emit });
      const failed = run.options.streams.filter((stream) => run.stats.of(stream).failed !== null);
      return endOfWork(failed, run.budgets.cut());
    }
    default:
      return reason satisfies never;
  }
};
