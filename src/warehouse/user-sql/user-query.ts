// Runs a user's SQL on the snapshot in a separate process, which can write nothing, has limited memory and time, and can be
// killed without harm. duckmirror's own statements run in its own process instead (read/query.ts).
import { resolve } from "node:path";
import { timerMs } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { fileError, isOutOfMemory } from "../duckdb/duck-errors.ts";
import type { OutValue } from "../duckdb/out-values.ts";
import type { QueryCursor, QueryResult } from "../read/query.ts";
import { assertReadable } from "../read/readable.ts";
import { withOurGuess } from "../read/unknown-table.ts";
import type { FromProcess, ToProcess } from "./messages.ts";
import { type ProcessLimits, type SqlProcess, startSqlProcess } from "./sql-process.ts";

export interface UserQuery {
  /** Path of the published snapshot. */
  readonly snapshot: string;
  readonly sql: string;
  /** Ends the process at once. */
  readonly signal?: AbortSignal;
}

export interface QueryLimits extends ProcessLimits {
  /** Time limit from the statement's start to its last row, ms. */
  readonly timeMs: number;
  /** Most characters of one row; default 100 million. */
  readonly rowCharacters?: number;
}

/** No row of the mirror has as many: by default no response is larger than 64 MiB. */
const ROW_CHARACTERS = 100_000_000;
/** What Node says when a result of its own no longer fits: "Data cannot be cloned, out of memory.", "Array buffer allocation failed". */
const NODE_MEMORY = /cannot be cloned, out of memory|allocation failed/i;

/** Runs users' statements, each in its own process. */
export interface QueryProcesses {
  /**
   * Runs the statement and streams its rows to `use`; the process ends when `use` ends. Throws SNAPSHOT_MISSING,
   * SNAPSHOT_DAMAGED, QUERY_FAILED or QUERY_LIMIT, the signal's reason, or the error of `use`.
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

const runIn = async <T>(
  sqlProcess: SqlProcess,
  request: UserQuery,
  limits: QueryLimits,
  use: (cursor: QueryCursor) => Promise<T>,
): Promise<T> => {
  const { sql, signal } = request;
  const snapshot = resolve(request.snapshot);
  const stop = () =>
    sqlProcess.end(signal?.reason instanceof Error ? signal.reason : new DuckmirrorError("INTERRUPTED"));
  const late = new DuckmirrorError("QUERY_LIMIT", { detail: `it took longer than ${limits.timeMs / 1000} seconds` });
  const timer = setTimeout(() => sqlProcess.end(late), timerMs(limits.timeMs));
  signal?.addEventListener("abort", stop, { once: true });
  try {
    if (signal?.aborted) stop();
    const memoryLimit = `${limits.memoryMiB}MiB`;
    const { rowCharacters = ROW_CHARACTERS } = limits;
    const run = { snapshot, sql, memoryLimit, rowCharacters };
    const answer = await ask(sqlProcess, { kind: "run", ask: run }, snapshot, limits);
    const columns = answer.kind === "columns" ? answer.columns : [];
    return await use({ columns, batches: batchesOf(sqlProcess, snapshot, limits) });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
};

/** `spare`: keep a started process ready, so that a statement need not wait for one. */
export const createQueryProcesses = (limits: QueryLimits, spare = false): QueryProcesses => {
  let ready: SqlProcess | null = null;
  let closed = false;
  const take = (): SqlProcess => {
    const sqlProcess = ready ?? startSqlProcess(limits);
    ready = spare && !closed ? startSqlProcess(limits) : null;
    return sqlProcess;
  };
  const endOf = async (sqlProcess: SqlProcess) => {
    sqlProcess.end(new DuckmirrorError("INTERRUPTED"));
    await sqlProcess.gone;
  };
  return {
    stream: async (request, use) => {
      assertReadable(request.snapshot);
      const sqlProcess = take();
      try {
        return await runIn(sqlProcess, request, limits, use);
      } finally {
        await endOf(sqlProcess);
      }
    },
    close: async () => {
      closed = true;
      const last = ready;
      ready = null;
      if (last !== null) await endOf(last);
    },
  };
};

/** Runs one statement and returns every row. Throws the errors of `QueryProcesses.stream`. */
export const runUserQuery = (request: UserQuery, limits: QueryLimits): Promise<QueryResult> =>
  createQueryProcesses(limits).stream(request, async ({ columns, batches }) => {
    const rows: (readonly OutValue[])[] = [];
    for await (const batch of batches) rows.push(...batch);
    return { columns, rows };
  });
