// Reads the results of the user's checks (setting `checks`) from a snapshot, and has the schema in which they are stored.
import { z } from "zod";
import { sqlText } from "../duckdb/sql-files.ts";
import type { ReadSql } from "../duckdb/statements.ts";

/** `error`: rows that it returns keep the present snapshot. */
export const CHECK_SEVERITIES = ["error", "warn"] as const;

export const checkResultRow = z.object({
  /** Name of its file without `.sql`. */
  check: z.string(),
  severity: z.enum(CHECK_SEVERITIES),
  /** `broken`: its SQL could not run. */
  status: z.enum(["passed", "failed", "broken"]),
  /** Rows that it returned; null: it could not run. */
  failing: z.number().nullable(),
  /** The first failing rows as JSON, or why it could not run; null: it passed, or the place keeps none. */
  sample: z.string().nullable(),
  run_id: z.string().nullable(),
  /** ms since the epoch. */
  at: z.number(),
});
export type CheckResult = z.output<typeof checkResultRow>;

export const isFailedError = ({ severity, status }: CheckResult): boolean =>
  severity === "error" && status === "failed";

/** A result without rows of the mirror, for places that `forget` does not search. */
export const withoutSample = (result: CheckResult): CheckResult => ({ ...result, sample: null });

/** Results before the last publish, the worst first. */
export const readCheckResults = (database: ReadSql): Promise<readonly CheckResult[]> =>
  database.query(sqlText("status/checks.sql"), [], checkResultRow);
