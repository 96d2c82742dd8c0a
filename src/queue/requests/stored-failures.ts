// Turns failures and results of jobs into the form in which a queue stores them, and back: one line that starts with the error code,
// without stack or secret, because a dead letter is kept for thirty days. Says which failures BullMQ should repeat.
import type { z } from "zod";
import type { Config } from "../../core/config/config.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { type DuckmirrorError, ERRORS, EXIT } from "../../core/errors.ts";
import { type Problem, problemOf } from "../../core/report/problem.ts";
import type { RequestedSync } from "../../core/report/triggers.ts";
import type { Scrubber } from "../../core/secret.ts";
import { readRun } from "../../warehouse/read/read-run.ts";
import { endedState } from "./sync-requests.ts";

// Finds syncs that the queue has dropped in the mirrors: DuckDB holds the truth, the queue only work in progress.

/**
 * Searches the run in every profile's snapshot; null when none has it, or when a kill ended it (recover.ts): nobody
 * carries that sync out any more, so it is asked for again. Throws QUERY_FAILED.
 */
export const findStored = async (profiles: readonly Config[], runId: string): Promise<RequestedSync | null> => {
  for (const { dataDir, profile } of profiles) {
    const run = await readRun(snapshotPath(dataDir), runId);
    if (run === null) continue;
    if (run.status === "interrupted" && run.report === null) return null;
    // A verification has a different report; one that found something wrong is partial.
    const verified = run.status === "done" || run.status === "partial" ? run.status : "failed";
    const state = run.report === null ? verified : endedState(run.report.status);
    return { runId, profile, askedAt: run.startedAt, report: run.report, state, error: storedProblem(run.error ?? "") };
  }
  return null;
};

// Why running jobs are aborted, and how long an interrupted one waits.

/** Reasons for aborting a running job; they reach the job as a bare text. */
export const ABORT = { stopping: "stopping", cancelled: "cancelled", lockLost: "lock lost" } as const;

/** Delay before trying again when another process writes to the mirror, or Redis was away, ms. */
export const BUSY_MS = 2_000;
/** Delay of a job that is passed to another worker, or to this one after its restart, ms. */
export const HANDED_ON_MS = 200;

/** The value with secrets removed from its texts. */
export const scrubbed = <T>(
  schema: z.ZodType<T>,
  value: T,
  { scrubber }: { readonly scrubber: Pick<Scrubber, "scrub"> },
): T => schema.parse(JSON.parse(scrubber.scrub(JSON.stringify(value))));

/** Error for a failed job: `CODE: message`. */
export const failureToKeep = (error: unknown, scrubber: Pick<Scrubber, "scrub">): Error => {
  const { code, message } = problemOf(error);
  const kept = new Error(scrubber.scrub(`${code}: ${message}`));
  kept.stack = kept.message;
  return kept;
};

const isCode = (code: string): code is keyof typeof ERRORS => Object.hasOwn(ERRORS, code);

/**
 * Problem in a stored failure or in the error of a stored run; null without one. Hints with unfilled gaps are
 * omitted.
 */
export const storedProblem = (text: string): Problem | null => {
  if (text === "") return null;
  const [, code = "", message = ""] = /^([A-Z_]+)(?:: (.*))?$/s.exec(text) ?? [];
  if (!isCode(code)) return { code: "UNEXPECTED", message: text, hint: ERRORS.UNEXPECTED.hint };
  const { hint, message: template } = ERRORS[code];
  const whole = (line: string) => (/\{\w+\}/.test(line) ? "" : line);
  return { code, message: message === "" ? whole(template) : message, hint: whole(hint) };
};

/** False for what only a change of configuration mends. */
export const isWorthRepeating = ({ exitCode }: Pick<DuckmirrorError, "exitCode">): boolean => exitCode !== EXIT.usage;
