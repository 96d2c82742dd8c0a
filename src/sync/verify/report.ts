// Report of a verification: the object printed by `verify --json`, what its checks have found so far, and how it ends because
// of them. Pure.
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { Ending } from "../run/state/ending.ts";
import type { Check } from "./checks.ts";

export interface CheckReport {
  /** `page`, `parts`, `signal-counts`, `detail`, `company` or `insight`. */
  readonly check: string;
  readonly stream: string;
  /** Checked company, account or record; empty for a list of the organization. */
  readonly scope: string;
  /** `newer`: all of its differences are. `skipped`: no result; `note` gives the reason. */
  readonly status: "equal" | "newer" | "differs" | "skipped" | "failed";
  readonly records: number;
  readonly credits: number;
  readonly note: string | null;
}

export interface Difference {
  readonly stream: string;
  /** Company; empty for the organization. */
  readonly scope: string;
  /**
   * `field`: a value. `missing`: the mirror lacks the record. `vanished`: the service no longer has it. `count`: the
   * number of rows; `field` then names the counted value or range of days, unless it is the whole list.
   */
  readonly kind: "field" | "missing" | "vanished" | "count";
  /** Id of the record; null for a count. */
  readonly key: string | null;
  readonly field: string | null;
  readonly mirror: string | null;
  readonly api: string | null;
  /** `newer`: the service has changed since the mirror read it, so the next read loads it. `wrong`: nothing proves that. */
  readonly verdict: "newer" | "wrong";
  readonly repaired: boolean;
}

export interface VerifyReport {
  readonly run_id: string;
  readonly credits: {
    readonly spent: number;
    readonly remaining: number | null;
    readonly limit: number | null;
    readonly resets_at: string | null;
  };
  readonly checks: readonly CheckReport[];
  /** Number of checks not made for lack of credits. */
  readonly checks_left: number;
  readonly differences: readonly Difference[];
}

export interface Finding {
  readonly status: CheckReport["status"] | "stopped";
  readonly records: number;
  readonly differences: readonly Difference[];
  readonly note: string | null;
}

/** Consecutive failed checks before the service counts as down. */
const MOST_FAILURES = 3;

export interface Findings {
  readonly reports: readonly CheckReport[];
  readonly differences: readonly Difference[];
}

export const NO_FINDINGS: Findings = { reports: [], differences: [] };

const scopeOf = (check: Check): string => {
  if (check.kind === "page") return check.scope;
  return "id" in check ? check.id : "";
};

/** What is found after one more check, which cost `credits`. */
export const afterCheck = (before: Findings, check: Check, found: Finding, credits: number): Findings => {
  const { status, records, note, differences } = found;
  if (status === "stopped") return before;
  const report = { check: check.kind, stream: check.stream, scope: scopeOf(check), status, records, credits, note };
  return { reports: [...before.reports, report], differences: [...before.differences, ...differences] };
};

/** True when the service counts as down, because the latest checks all failed. */
export const isDown = ({ reports }: Findings): boolean =>
  reports.length >= MOST_FAILURES && reports.slice(-MOST_FAILURES).every(({ status }) => status === "failed");

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
export const earlyEnd = (reason: ReturnType<Ending["reason"]>, { reports }: Findings): DuckmirrorError | null => {
  const showed = reports.some(({ status }) => status !== "skipped" && status !== "failed");
  const stopped = reason?.kind === "stopped" ? reason.error : null;
  // A verification that compared something may run out of credits.
  if (stopped !== null && !(stopped.exitCode === EXIT.budget && showed)) return stopped;
  if (reason?.kind === "interrupted") return new DuckmirrorError("INTERRUPTED");
  const failed = reports.find(({ status }) => status === "failed");
  if (failed === undefined || showed) return null;
  return new DuckmirrorError("REQUEST_FAILED", { endpoint: "verify", detail: failed.note ?? "" });
};
