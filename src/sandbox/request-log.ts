// The service's request history for the usage routes: kept in memory, written to the warehouse before it is read.
import type { Database } from "../warehouse/duckdb/database.ts";
import { loadRows } from "./generate/load-rows.ts";
import { iso } from "./generate/rows.ts";

export interface LoggedRequest {
  readonly id: number;
  readonly occurredAt: number;
  /** Method and path template. */
  readonly endpoint: string;
  readonly apiKeyId: string;
  readonly input: Readonly<Record<string, string>>;
  successful: boolean;
  error?: string;
}

export interface RequestLog {
  /** Records a request; it counts as successful until `finish` sets another status. */
  begin(request: Pick<LoggedRequest, "occurredAt" | "endpoint" | "apiKeyId" | "input">): LoggedRequest;
  finish(request: LoggedRequest, status: number): Promise<void>;
  /** Writes finished requests, and `current`, the request that reads the log now. */
  flush(current?: LoggedRequest): Promise<void>;
}

/** Number of entries in memory that triggers a write. */
const FLUSH_AT = 5_000;

export const createRequestLog = (database: Pick<Database, "run" | "transaction">, firstId: number): RequestLog => {
  let nextId = firstId;
  let finished: LoggedRequest[] = [];
  const written = new Set<LoggedRequest>();

  const flush = async (current?: LoggedRequest): Promise<void> => {
    const batch = current === undefined ? finished : [...finished, current];
    finished = [];
    if (current !== undefined) written.add(current);
    const rows = batch.map(({ id, occurredAt, endpoint, successful, error, apiKeyId, input }) => ({
      id,
      occurredAt: iso(occurredAt),
      endpoint,
      successful,
      error,
      apiKeyId,
      input: Object.keys(input).length > 0 ? input : undefined,
    }));
    const at = iso(batch.at(-1)?.occurredAt ?? 0);
    if (rows.length > 0) await database.transaction((tx) => loadRows(tx, "usage_requests", rows, at));
  };

  return {
    begin: (request) => ({ id: nextId++, ...request, successful: true }),
    finish: async (request, status) => {
      request.successful = status === 200;
      if (status !== 200) request.error = `HTTP ${status}`;
      if (written.delete(request)) {
        if (status === 200) return;
        const sql = "UPDATE main.usage_requests SET successful = false, error = $1 WHERE id = CAST($2 AS BIGINT)";
        await database.run(sql, [`HTTP ${status}`, String(request.id)]);
        return;
      }
      finished.push(request);
      if (finished.length >= FLUSH_AT) await flush();
    },
    flush,
  };
};
