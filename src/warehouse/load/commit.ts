// One checkpoint in one transaction: rows, seen keys, history, rejects, drift, scope states, ledger, quota.
// Invariants I1 (a cursor never passes unwritten rows) and I2 (loading a page twice equals once).
import { BIGINT, DOUBLE, type DuckDBValue, INTEGER, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { TABLE_NAMES } from "../../catalog/tables.ts";
import { literal } from "../../core/text/sql-text.ts";
import { instant, type SqlValue } from "../duckdb/duck-values.ts";
import { sqlText, textsOf } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";
import type { Checkpoint, LoadCounts, QuotaReading, RequestRecord, ScopeState } from "../record/checkpoint.ts";
import { EVOLVING, type TableStrictness } from "../record/normalize-record.ts";
import {
  append,
  at,
  type ChangeLog,
  NOTHING_REDACTED,
  openChangeLog,
  type RedactedChanges,
  whole,
  writeThrough,
} from "./change-log.ts";
import { type BatchReject, type CountedDrift, collectBatch, type SeenKey, type TableBatch } from "./collect-batch.ts";
import { loadBatch } from "./load-batch.ts";

// Stores the states of scopes. A commit usually changes one, which takes one plain statement, without a temporary
// table. In a large table each such statement reads all of it (keys of two columns are not looked up), so several go
// through a temporary table.

/** Most states that are written one by one. */
const ONE_BY_ONE = 1;

const rounded = (value: number | null) => (value === null ? null : Math.round(value));

/** A state's values, in the order of the statements. `time` and `count`: the form of such values. */
const valuesOf = <T>(
  state: ScopeState,
  time: (ms: number | null) => T,
  count: (rows: number | null) => T,
): (T | string | null)[] => [
  state.stream,
  state.scope,
  state.status,
  state.walkId,
  state.cursor,
  time(state.watermark),
  count(state.totalCount),
  count(state.rowsAtWalk),
  time(state.checkedAt),
  time(state.walkedAt),
  state.error,
  state.runId,
  count(state.unconfirmed?.rows ?? 0),
  state.unconfirmed?.because ?? null,
];

const writeState = async (tx: Sql, state: ScopeState) => {
  const values = valuesOf<SqlValue>(state, instant, rounded);
  if ((await tx.run(sqlText("warehouse/update-scope-state.sql"), values)) > 0) return;
  await tx.run(sqlText("warehouse/insert-scope-state.sql"), values);
};

const writeMany = (tx: Sql, states: readonly ScopeState[]): Promise<void> => {
  const text = [VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR];
  const types = [...text, TIMESTAMPTZ, BIGINT, BIGINT, TIMESTAMPTZ, TIMESTAMPTZ, VARCHAR, VARCHAR, BIGINT, VARCHAR];
  const rows = states.map((state) => valuesOf<DuckDBValue>(state, at, whole));
  return writeThrough(tx, "stream_state", types, rows, "warehouse/upsert-scope-states.sql");
};

/** Stores scope states; the last one of a stream and scope counts. */
export const writeScopeStates = async (tx: Sql, states: readonly ScopeState[]): Promise<void> => {
  const last = [...new Map(states.map((state) => [`${state.stream}\n${state.scope}`, state])).values()];
  if (last.length > ONE_BY_ONE) return writeMany(tx, last);
  for (const state of last) await writeState(tx, state);
};

const CREDITS = { spent: 1, free: 0, ambiguous: null } as const;

/** Stores the ledger rows of a commit. A request that is committed already stays unchanged. */
const writeRequests = async (tx: Sql, requests: readonly RequestRecord[], committed: ReadonlySet<string>) => {
  const last = new Map(requests.map((request) => [request.requestId, request]));
  const fresh = [...last.values()].filter(({ requestId }) => !committed.has(requestId));
  if (fresh.length === 0) return;
  const text = [VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR];
  const types = [
    ...text,
    INTEGER,
    VARCHAR,
    INTEGER,
    TIMESTAMPTZ,
    DOUBLE,
    BIGINT,
    BIGINT,
    INTEGER,
    VARCHAR,
    VARCHAR,
    VARCHAR,
    VARCHAR,
  ];
  const rows = fresh.map((request): DuckDBValue[] => [
    request.requestId,
    request.runId,
    request.stream,
    request.scope,
    request.endpoint,
    request.url,
    request.status,
    request.charge,
    CREDITS[request.charge],
    at(request.startedAt),
    request.durationMs,
    whole(request.bytes),
    whole(request.rows),
    request.attempt,
    request.error,
    request.serviceRequestId,
    request.apiVersion,
    request.work,
  ]);
  await append(tx, "sync.requests", types, rows);
};

const writeDrift = (tx: Sql, table: string, drift: readonly CountedDrift[], seenAt: number, runId: string) => {
  const types = [VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, TIMESTAMPTZ, TIMESTAMPTZ, VARCHAR];
  const rows = drift.map((entry): DuckDBValue[] => [
    table,
    entry.field,
    entry.kind,
    entry.detail,
    whole(entry.occurrences),
    at(seenAt),
    at(seenAt),
    runId,
  ]);
  return writeThrough(tx, "schema_drift", types, rows, "warehouse/upsert-schema-drift.sql");
};

const writeRejects = async (tx: Sql, rejects: readonly BatchReject[], runId: string) => {
  if (rejects.length === 0) return;
  const types = [TIMESTAMPTZ, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR];
  const rows = rejects.map(({ load, position, reject }): DuckDBValue[] => [
    at(load.receivedAt),
    runId,
    load.requestId,
    load.stream,
    load.table,
    whole(position),
    reject.reason,
    reject.record,
  ]);
  await append(tx, "sync.rejects", types, rows);
};

const writeSeen = async (tx: Sql, table: string, seen: readonly SeenKey[]) => {
  if (seen.length === 0) return;
  const rows = seen.map(({ walkId, companyId, id }): DuckDBValue[] => [walkId, table, companyId, id]);
  await append(tx, "sync.walk_seen", [VARCHAR, VARCHAR, VARCHAR, VARCHAR], rows);
};

/** Ids among these that are committed already. Written as literals, so that the primary key's index is used. */
const committedRequests = async (sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  if (ids.length === 0) return new Set();
  const list = ids.map(literal).join(", ");
  return new Set(await textsOf(sql, `SELECT request_id FROM sync.requests WHERE request_id IN (${list})`));
};

const writeBatch = async (tx: Sql, batch: TableBatch, checkpoint: Checkpoint, log: ChangeLog) => {
  const { runId, loads } = checkpoint;
  const seenAt = Math.max(...loads.map(({ receivedAt }) => receivedAt));
  const counts = await loadBatch(tx, batch, { runId, at: seenAt, log });
  await writeSeen(tx, batch.table, batch.seen);
  await writeRejects(tx, batch.rejects, runId);
  await writeDrift(tx, batch.table, batch.drift, seenAt, runId);
  return counts;
};

const writeQuota = async (tx: Sql, quota: QuotaReading, runId: string, log: ChangeLog) => {
  const { capturedAt, limit, used, remaining, resetsAt } = quota;
  const values = [instant(capturedAt), limit, used, remaining, instant(resetsAt), runId];
  const inserted = await tx.run(sqlText("warehouse/insert-quota.sql").replace("{after}", await log.after()), values);
  if (inserted === 0) return;
  const kind = { table: "usage_snapshots", change: "insert", runId, at: capturedAt } as const;
  await log.add(kind, inserted, `(SELECT make_timestamptz(${Math.round(capturedAt * 1000)}) AS captured_at)`);
};

const NOTHING: LoadCounts = { inserted: 0, updated: 0, unchanged: 0, rejected: 0 };

/**
 * Writes a checkpoint inside a transaction. A load whose request is committed already changes nothing and counts
 * nothing. `past`: changes that a replay cannot repeat.
 * Returns the counts of each load, in order.
 */
export const writeCheckpoint = async (
  tx: Sql,
  checkpoint: Checkpoint,
  strictness: TableStrictness = EVOLVING,
  past: RedactedChanges = NOTHING_REDACTED,
): Promise<readonly LoadCounts[]> => {
  const { loads, runId } = checkpoint;
  const ids = [...new Set([...loads, ...checkpoint.requests].map(({ requestId }) => requestId))];
  const committed = await committedRequests(tx, ids);
  const counts: LoadCounts[] = loads.map(() => NOTHING);
  const log = openChangeLog(tx, past);

  for (const table of TABLE_NAMES) {
    const mine = loads
      .map((load, index) => ({ load, index }))
      .filter(({ load }) => load.table === table && !committed.has(load.requestId));
    if (mine.length === 0) continue;
    const batch = collectBatch(table, mine, strictness(table));
    const written = await writeBatch(tx, batch, checkpoint, log);
    const total = new Map<number, number>();
    for (const { loadIndex } of batch.rows) total.set(loadIndex, (total.get(loadIndex) ?? 0) + 1);
    for (const { index, load } of mine) {
      const rows = total.get(index) ?? 0;
      const inserted = written.inserted.get(index) ?? 0;
      const updated = written.updated.get(index) ?? 0;
      const mineRejected = batch.rejects.filter((reject) => reject.load === load);
      const misfits = mineRejected.filter(({ seen }) => seen).length;
      const rejected = mineRejected.length - misfits;
      const unchanged = rows - inserted - updated;
      counts[index] = { inserted, updated, unchanged, rejected, ...(misfits === 0 ? {} : { misfits }) };
    }
  }
  await writeScopeStates(tx, checkpoint.scopes);
  await writeRequests(tx, checkpoint.requests, committed);
  if (checkpoint.quota !== null) await writeQuota(tx, checkpoint.quota, runId, log);
  await log.end();
  return counts;
};
