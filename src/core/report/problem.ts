// The form in which a failure is stored and shown to people who do not own this machine: code, message and hint, without stack and paths.
// Also the severity with which a worker logs it.
import { basename, isAbsolute } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf, type ErrorCode, withHint } from "../errors.ts";
import { withoutPaths } from "../text/shown-text.ts";
import { counted } from "../text/units.ts";
import type { SyncReport } from "./sync-report.ts";

// Severity of a failure that a worker survives: a warning if the next attempt mends it, an error if a person must.

// The line of a log that says how a sync ended: with what it cost and, if work is left, with code, reason and remedy. PURE.

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
  return { level, text: `${end}. ${problem.code}: ${withHint(problem)}` };
};

/** The next attempt or the next sync goes on from here, without anybody's help. */
const PASSING: readonly ErrorCode[] = [
  "QUOTA_SPENT",
  "BUDGET_SPENT",
  "BUDGET_REACHED",
  "DURATION_SPENT",
  "STREAMS_FAILED",
  "DELETE_PROBE_FAILED",
  "WALK_INCONCLUSIVE",
  "REQUEST_FAILED",
  "LIST_TOO_DEEP",
  "ROUTE_NOT_FOUND",
  "ROUTE_MISSING",
  "RATE_REFUSED",
  "RESPONSE_INVALID",
  "ANSWERS_UNUSABLE",
  "SERVICE_UNREACHABLE",
  "SERVICE_FAILING",
  "WRITER_BUSY",
  "REDIS_UNAVAILABLE",
  "INTERRUPTED",
];

/** BullMQ's codes of a job that is gone, or that another worker has by now. */
const TAKEN_AWAY: readonly unknown[] = [-1, -2, -6];

/** A job's error because Redis was emptied, or because the job was delivered again. */
export const isTakenAway = (error: unknown): boolean =>
  error instanceof Error && "code" in error && TAKEN_AWAY.includes(error.code);

/** `code`: of the failure, e.g. from a report. */
export const levelOfCode = (code: string): "warn" | "error" =>
  PASSING.some((passing) => passing === code) ? "warn" : "error";

export const levelOf = (error: unknown): "warn" | "error" =>
  isTakenAway(error) ? "warn" : levelOfCode(error instanceof DuckmirrorError ? error.code : "UNEXPECTED");

export const problemSchema = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type Problem = z.output<typeof problemSchema>;

/** Any thrown value as an error with a code. */
export const withCode = (error: unknown): DuckmirrorError =>
  error instanceof DuckmirrorError ? error : new DuckmirrorError("UNEXPECTED", { detail: detailOf(error) });

/** Converts any thrown value to code, message and hint; paths of this machine are cut to their last part. */
export const problemOf = (error: unknown): Problem => {
  const { code, message, hint, context } = withCode(error);
  // A path may hold what ends one in a sentence: a space, a colon.
  const paths = Object.values(context).filter((value) => typeof value === "string" && isAbsolute(value));
  const cut = (text: string) =>
    withoutPaths(
      paths.reduce<string>((left, path) => left.replaceAll(String(path), `…/${basename(String(path))}`), text),
    );
  return { code, message: cut(message), hint: cut(hint) };
};
