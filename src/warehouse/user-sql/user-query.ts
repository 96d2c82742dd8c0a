// Runs a user's SQL on the snapshot in a separate process, which reaches nothing but the snapshot (fence/), has limited memory and
// time, and can be killed without harm. duckmirror's own statements run in its own process instead (read/query.ts).
import { resolve } from "node:path";
import { timerMs } from "../../core/clock.ts";
import type { UserSqlSetting } from "../../core/config/settings.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { fileError, isOutOfMemory, withOurGuess } from "../duckdb/duck-errors.ts";
import type { OutValue } from "../duckdb/out-values.ts";
import type { FromProcess, ToProcess } from "./frames.ts";
import { type ProcessLimits, ROW_CHARACTERS } from "./process-limits.ts";
import { createProcessPool, endOf, type ProcessPool } from "./process-pool.ts";
import type { QueryCursor, QueryResult } from "./query-output.ts";
import type { SqlProcess } from "./sql-process.ts";
import { assertReadable } from "./trusted-files.ts";

export interface UserQuery {
  readonly snapshot: string;
  readonly sql: string;
  /** Ends the process at once. */
  readonly signal?: AbortSignal;
}

export interface QueryLimits extends ProcessLimits {
  /** Time limit from the statement's start to its last row, ms. */
  readonly timeMs: number;
}

/**
 * Who wrote the SQL. `owner`: the owner of the snapshot. `box`, `trusted`, `off`: another, under the setting `user_sql`; `trusted` runs
 * without a fence where the system has none.
 */
export type SqlSource = UserSqlSetting | "owner";

/** What Node says when a result of its own no longer fits: "Data cannot be cloned, out of memory.", "Array buffer allocation failed". */
const NODE_MEMORY = /cannot be cloned, out of memory|allocation failed/i;

/** Runs users' statements, each in its own process. */
export interface QueryProcesses {
  /**
   * Runs the statement and streams its rows to `use`; the process ends when `use` ends. Throws SNAPSHOT_MISSING,
   * SNAPSHOT_DAMAGED, QUERY_FAILED, QUERY_LIMIT, SQL_REFUSED, USER_SQL_OFF or USER_SQL_NO_BOX, the signal's reason, or the error of
   * `use`.
   */
  stream<T>(request: UserQuery, use: (cursor: QueryCursor) => Promise<T>): Promise<T>;
  /** Ends the process that waits for the next statement. */
  close(): Promise<void>;
}

const ask = async (
  sqlProcess: SqlProcess,
  message: ToProcess,
  snapshot: string,
  limits: QueryLimits,
): Promise<FromProcess> => {
  const answer = await sqlProcess.request(message);
  if (answer.kind === "tooLarge") {
    const most = Math.floor((limits.rowCharacters ?? ROW_CHARACTERS) / 1_000_000);
    throw new DuckmirrorError("QUERY_LIMIT", { detail: `one of its rows has more than ${most} million characters` });
  }
  if (answer.kind === "refused") throw new DuckmirrorError("SQL_REFUSED", { detail: answer.detail });
  if (answer.kind !== "failed") return answer;
  const { detail } = answer;
  if (isOutOfMemory(new Error(detail)) || NODE_MEMORY.test(detail)) {
    throw new DuckmirrorError("QUERY_LIMIT", { detail: `it needed more than ${limits.memoryMiB} MiB of memory` });
  }
  const error = fileError(new Error(detail), snapshot, true);
  throw error instanceof DuckmirrorError
    ? error
    : new DuckmirrorError("QUERY_FAILED", { detail: withOurGuess(detail) });
};

async function* batchesOf(
  sqlProcess: SqlProcess,
  snapshot: string,
  limits: QueryLimits,
): AsyncGenerator<OutValue[][], void> {
  for (;;) {
    const answer = await ask(sqlProcess, { kind: "next" }, snapshot, limits);
    if (answer.kind !== "rows" || answer.rows.length === 0) return;
    yield answer.rows;
  }
}

/** Ends whichever process runs the statement, once its time is over or its reader leaves. */
const deadlineFor = ({ signal }: UserQuery, { timeMs }: QueryLimits) => {
  let current: SqlProcess | null = null;
  let reason: Error | null = null;
  const end = (why: Error) => {
    reason ??= why;
    current?.end(reason);
  };
  const stop = () => end(signal?.reason instanceof Error ? signal.reason : new DuckmirrorError("INTERRUPTED"));
  const late = new DuckmirrorError("QUERY_LIMIT", { detail: `it took longer than ${timeMs / 1000} seconds` });
  const timer = setTimeout(() => end(late), timerMs(timeMs));
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  return {
    over: (sqlProcess: SqlProcess) => {
      current = sqlProcess;
      if (reason !== null) sqlProcess.end(reason);
    },
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    },
  };
};

/** A publish may have replaced the snapshot since the process was fenced, which may read the older file only. */
const MOST_STARTS = 3;

/** Runs the statement to its first answer, its columns. */
const beginIn = async (
  processes: ProcessPool,
  { sql, ...request }: UserQuery,
  { gated, ...limits }: QueryLimits & { readonly gated: boolean },
  hold: (sqlProcess: SqlProcess) => void,
) => {
  const snapshot = resolve(request.snapshot);
  const { memoryMiB, rowCharacters = ROW_CHARACTERS } = limits;
  const run = { kind: "run", snapshot, sql, gated, memoryLimit: `${memoryMiB}MiB`, rowCharacters } as const;
  for (let start = 1; ; start += 1) {
    const sqlProcess = await processes.take(snapshot, hold);
    try {
      const answer = await ask(sqlProcess, run, snapshot, limits);
      return { sqlProcess, snapshot, columns: answer.kind === "columns" ? answer.columns : [] };
    } catch (error) {
      if (start === MOST_STARTS || processes.isFor(sqlProcess, snapshot)) throw error;
      await endOf(sqlProcess);
    }
  }
};

/** `spare`: keep a started process ready, so that a statement need not wait for one. `onCrash`: a fault of the engine ended one. */
export const createQueryProcesses = (
  limits: QueryLimits,
  source: SqlSource,
  { spare = false, onCrash = () => {} }: { readonly spare?: boolean; readonly onCrash?: () => void } = {},
): QueryProcesses => {
  const gated = source !== "owner";
  const processes = createProcessPool(limits, { spare, onCrash, mayDoWithoutFence: source !== "box" });
  return {
    stream: async (request, use) => {
      if (source === "off") throw new DuckmirrorError("USER_SQL_OFF");
      assertReadable(request.snapshot);
      const held: SqlProcess[] = [];
      const deadline = deadlineFor(request, limits);
      const hold = (sqlProcess: SqlProcess) => {
        held.push(sqlProcess);
        deadline.over(sqlProcess);
      };
      try {
        const { sqlProcess, snapshot, columns } = await beginIn(processes, request, { ...limits, gated }, hold);
        return await use({ columns, batches: batchesOf(sqlProcess, snapshot, limits) });
      } finally {
        deadline.release();
        await Promise.all(held.map(endOf));
      }
    },
    close: processes.close,
  };
};

/** Runs one statement and returns every row. Throws the errors of `QueryProcesses.stream`. */
export const runUserQuery = (request: UserQuery, limits: QueryLimits, source: SqlSource): Promise<QueryResult> =>
  createQueryProcesses(limits, source).stream(request, async ({ columns, batches }) => {
    const rows: (readonly OutValue[])[] = [];
    for await (const batch of batches) rows.push(...batch);
    return { columns, rows };
  });
