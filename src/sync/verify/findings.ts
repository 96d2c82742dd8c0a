// Findings of a verification: what its checks have found so far, and how it ends because of them. Pure.
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { Ending } from "../run/state/ending.ts";
import type { Finding } from "./check-lists.ts";
import type { Check } from "./checks.ts";
import type { CheckReport, Difference } from "./report.ts";

/** Consecutive failed checks before the service counts as down. */
const MOST_FAILURES = 3;

export interface Findings {
  /** Checks that were made. */
  readonly reports: readonly CheckReport[];
  readonly differences: readonly Difference[];
  /** Failed checks since the last one that did not fail. */
  readonly failures: number;
  /** Note of the first failed check. */
  readonly failed: string | null;
}

export const NO_FINDINGS: Findings = { reports: [], differences: [], failures: 0, failed: null };

const scopeOf = (check: Check): string => {
  if (check.kind === "page") return check.scope;
  return "id" in check ? check.id : "";
};

/** What is found after one more check, which cost `credits`. */
export const afterCheck = (before: Findings, check: Check, found: Finding, credits: number): Findings => {
  const { status, records, note, differences } = found;
  if (status === "stopped") return before;
  const hasFailed = status === "failed";
  const report = { check: check.kind, stream: check.stream, scope: scopeOf(check), status, records, credits, note };
  return {
    reports: [...before.reports, report],
    differences: [...before.differences, ...differences],
    failures: hasFailed ? before.failures + 1 : 0,
    failed: before.failed ?? (hasFailed ? note : null),
  };
};

/** True when the service counts as down, because the latest checks all failed. */
export const isDown = ({ failures }: Findings): boolean => failures >= MOST_FAILURES;

/** One entry per difference, even if several checks found it; a repaired difference counts as repaired. */
export const distinct = (differences: readonly Difference[]): readonly Difference[] => {
  const known = new Map<string, Difference>();
  for (const difference of differences) {
    const { stream, scope, kind, key, field } = difference;
    const id = JSON.stringify([stream, scope, kind, key, field]);
    const before = known.get(id);
    // Another check of this run may have read a later version; what one of them proves wrong is wrong.
    const verdict = before?.verdict === "wrong" ? "wrong" : difference.verdict;
    known.set(id, { ...difference, verdict, repaired: difference.repaired || before?.repaired === true });
  }
  return [...known.values()];
};

/** Differences that are not proven to be later changes of the service. */
export const wrongOnes = (differences: readonly Difference[]): readonly Difference[] =>
  differences.filter(({ verdict }) => verdict === "wrong");

/** VERIFY_DIFFERS; null: nothing is wrong. */
export const differencesError = (differences: readonly Difference[]): DuckmirrorError | null => {
  const wrong = wrongOnes(differences);
  if (wrong.length === 0) return null;
  const repaired = wrong.filter((difference) => difference.repaired).length;
  return new DuckmirrorError("VERIFY_DIFFERS", {
    count: wrong.length,
    repaired: repaired === 0 ? "" : `, ${repaired} of them repaired`,
  });
};

/** Why the verification proves less than it should; null: it proves what it could. */
export const earlyEnd = (
  reason: ReturnType<Ending["reason"]>,
  { reports, failed }: Findings,
): DuckmirrorError | null => {
  const showed = reports.some(({ status }) => status !== "skipped" && status !== "failed");
  const stopped = reason?.kind === "stopped" ? reason.error : null;
  // A verification that compared something may run out of credits.
  if (stopped !== null && !(stopped.exitCode === EXIT.budget && showed)) return stopped;
  if (reason?.kind === "interrupted") return new DuckmirrorError("INTERRUPTED");
  if (failed === null || showed) return null;
  return new DuckmirrorError("REQUEST_FAILED", { endpoint: "verify", detail: failed });
};
