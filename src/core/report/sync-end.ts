// The line of a log that says how a sync ended: with what it cost and, if work is left, with code, reason and remedy. PURE.
import { counted } from "../text/units.ts";
import { levelOfCode } from "./severity.ts";
import type { SyncReport } from "./sync-report.ts";

interface EndedSync {
  readonly report: Pick<SyncReport, "run_id" | "status" | "requests" | "credits">;
  /** Reason why due work is left; null: none is. */
  readonly problem: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

/** A cancelled sync is no fault, so its line is information. */
export const endLine = (
  profile: string,
  { report, problem }: EndedSync,
): { readonly level: "info" | "warn" | "error"; readonly text: string } => {
  const cost = `${counted(report.requests, "request")}, ${counted(report.credits.spent, "credit")} spent`;
  const end = `sync ${report.run_id} of ${profile}: ${report.status}, ${cost}`;
  if (problem === null) return { level: "info", text: end };
  const level = problem.code === "INTERRUPTED" ? "info" : levelOfCode(problem.code);
  return { level, text: `${end}. ${problem.code}: ${problem.message} ${problem.hint}`.trimEnd() };
};
