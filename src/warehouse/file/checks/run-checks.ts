// Runs the user's checks (setting `checks`) before a publish: each file is one query for rows that must not exist. They run in the process
// of users' SQL (user-sql), on the closed working file. docs/decisions/checks.md.
import { join } from "node:path";
import type { UserSqlSetting } from "../../../core/config/settings.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { listGiven, readGiven } from "../../../core/files/given-files.ts";
import type { Database } from "../../duckdb/database.ts";
import type { OutValue } from "../../duckdb/out-values.ts";
import { sqlText } from "../../duckdb/sql-files.ts";
import { instant } from "../../duckdb/statements.ts";
import { CHECK_SEVERITIES, type CheckResult, isFailedError } from "../../read/check-results.ts";
import { createQueryProcesses, type QueryProcesses } from "../../user-sql/user-query.ts";

export interface ChecksSetting {
  /** Folder of the files, absolute. */
  readonly folder: string;
  readonly source: UserSqlSetting;
}

const LIMITS = { timeMs: 60_000, memoryMiB: 1024 };
/** Time that all checks together have left once the program is interrupted. */
const GRACE_MS = 3_000;
const MOST_BYTES = 1024 * 1024;
/** More failing rows are not counted. */
const MOST_FAILING = 10_000;
const SAMPLE_ROWS = 10;
const SAMPLE_CHARACTERS = 200;

interface CheckFile {
  readonly check: string;
  readonly severity: CheckResult["severity"];
  readonly sql: string;
  /** Why it cannot run. */
  readonly problem: string | null;
}

/** The severity that the comments above the query name; null: another word. */
const severityIn = (sql: string): CheckFile["severity"] | null => {
  const head = /^(?:\s*--.*\n?|\s*\n)*/.exec(sql)?.[0] ?? "";
  const word = /^\s*--\s*severity:\s*(.*?)\s*$/im.exec(head)?.[1];
  return word === undefined ? "error" : (CHECK_SEVERITIES.find((known) => known === word) ?? null);
};

const readCheckFile = (folder: string, name: string): CheckFile => {
  const check = name.replace(/\.sql$/, "");
  const broken = (problem: string): CheckFile => ({ check, severity: "error", sql: "", problem });
  try {
    const sql = readGiven(join(folder, name), MOST_BYTES, false);
    const severity = severityIn(sql);
    return severity === null
      ? broken("its severity is neither error nor warn")
      : { check, severity, sql, problem: null };
  } catch (error) {
    return broken(detailOf(error));
  }
};

/** The files of the folder by name. A folder that cannot be read is one broken check. */
const checkFiles = (folder: string): readonly CheckFile[] => {
  try {
    const names = listGiven(folder).filter((name) => name.endsWith(".sql"));
    return names.map((name) => readCheckFile(folder, name));
  } catch (error) {
    return [{ check: folder, severity: "error", sql: "", problem: detailOf(error) }];
  }
};

/** A value as JSON: long texts are cut, large numbers become text. */
const sampled = (_name: string, value: unknown): unknown => {
  if (typeof value === "bigint") return String(value);
  return typeof value === "string" && value.length > SAMPLE_CHARACTERS
    ? `${value.slice(0, SAMPLE_CHARACTERS)}…`
    : value;
};

const failingRows = (processes: QueryProcesses, snapshot: string, { sql }: CheckFile, signal: AbortSignal) =>
  processes.stream({ snapshot, sql, signal }, async ({ columns, batches }) => {
    const sample: Record<string, OutValue>[] = [];
    let failing = 0;
    for await (const rows of batches) {
      for (const row of rows.slice(0, SAMPLE_ROWS - sample.length))
        sample.push(Object.fromEntries(columns.map(({ name }, nth) => [name, row[nth] ?? null])));
      failing = Math.min(MOST_FAILING, failing + rows.length);
      if (failing === MOST_FAILING) break;
    }
    return { failing, sample: failing === 0 ? null : JSON.stringify(sample, sampled) };
  });

type Outcome = Pick<CheckResult, "status" | "failing" | "sample">;

const brokenBy = (detail: string): Outcome => ({ status: "broken", failing: null, sample: JSON.stringify(detail) });

const runCheck = async (
  processes: QueryProcesses,
  file: string,
  check: CheckFile,
  signal: AbortSignal,
): Promise<Outcome> => {
  if (check.problem !== null) return brokenBy(check.problem);
  try {
    const { failing, sample } = await failingRows(processes, file, check, signal);
    return { status: failing === 0 ? "passed" : "failed", failing, sample };
  } catch (error) {
    signal.throwIfAborted();
    return brokenBy(detailOf(error));
  }
};

/** Errors about the text of a query. What others say may hold values of rows. */
const ABOUT_THE_TEXT = /^(?:Parser|Binder|Catalog|Syntax|Not implemented)$/;

/**
 * A result as it may be stored and reported: a check that broke on a row names the kind of error only, because its text goes to places
 * that `forget` does not reach. PURE.
 */
export const withoutValues = (result: CheckResult): CheckResult => {
  if (result.status !== "broken") return result;
  const kind = /^"The query failed: (?:Failed to extract statements: )?([A-Z][\w ]*?) Error: /.exec(
    result.sample ?? "",
  )?.[1];
  if (kind === undefined || ABOUT_THE_TEXT.test(kind)) return result;
  const text = `${kind} Error in a row; \`duckmirror check-data\` shows it`;
  return { ...result, sample: JSON.stringify(text) };
};

/**
 * A signal that aborts a few seconds after `stop`, if that is an interruption. A run that its time limit ends publishes what it has, so its
 * checks have their time.
 */
const soonAfter = (stop: AbortSignal | undefined) => {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    const { reason } = stop ?? {};
    if (reason instanceof DuckmirrorError && reason.code !== "INTERRUPTED") return;
    timer = setTimeout(() => late.abort(new DuckmirrorError("INTERRUPTED")), GRACE_MS);
  };
  if (stop?.aborted) begin();
  else stop?.addEventListener("abort", begin, { once: true });
  return {
    signal: late.signal,
    release: () => {
      clearTimeout(timer);
      stop?.removeEventListener("abort", begin);
    },
  };
};

interface ChecksRun {
  readonly runId: string | null;
  /** ms since the epoch. */
  readonly now: number;
  /** The program's signal to end; unset: none. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Runs every check of the folder on the content of the working file; other work on it waits. Throws INTERRUPTED a few seconds after
 * `stop`: what is not checked must not be published.
 */
export const runChecks = async (
  database: Database,
  { folder, source }: ChecksSetting,
  { runId, now, stop }: ChecksRun,
): Promise<readonly CheckResult[]> => {
  const files = checkFiles(folder);
  if (files.length === 0) return [];
  await database.flushWal();
  return database.offline(async () => {
    const processes = createQueryProcesses(LIMITS, source, { spare: true });
    const results: CheckResult[] = [];
    const grace = soonAfter(stop);
    try {
      for (const file of files) {
        const { check, severity } = file;
        const outcome = await runCheck(processes, database.file, file, grace.signal);
        results.push({ check, severity, ...outcome, run_id: runId, at: now });
      }
    } finally {
      grace.release();
      await processes.close();
    }
    return results;
  });
};

/** Puts the results in place of the earlier ones. */
export const noteChecks = (database: Database, results: readonly CheckResult[]): Promise<void> =>
  database.transaction(
    async (tx) => {
      await tx.run("DELETE FROM sync.checks");
      for (const { check, severity, status, failing, sample, run_id, at } of results) {
        const values = [check, severity, status, failing, sample, run_id, instant(at)];
        await tx.run(sqlText("warehouse/insert-check.sql"), values);
      }
    },
    // Repeating it is harmless.
    { isCommitted: async () => false },
  );

const namesOf = (results: readonly CheckResult[]): string => results.map(({ check }) => check).join(", ");

/** CHECK_FAILED where an error check returned rows, CHECK_BROKEN where one could not run; null: neither. Pure. */
export const checkProblem = (results: readonly CheckResult[]): DuckmirrorError | null => {
  const failed = results.filter(isFailedError);
  if (failed.length > 0) return new DuckmirrorError("CHECK_FAILED", { checks: namesOf(failed) });
  const broken = results.filter(({ status }) => status === "broken");
  const [first] = broken;
  if (first === undefined) return null;
  return new DuckmirrorError("CHECK_BROKEN", { checks: namesOf(broken), detail: JSON.parse(first.sample ?? '""') });
};
