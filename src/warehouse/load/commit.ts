// Writes one checkpoint in one transaction: rows, seen keys, history, rejects, drift, scope states, ledger, quota. Invariants I1 (a cursor
// never passes unwritten rows) and I2 (loading a page twice equals once).
import { BIGINT, DOUBLE, type DuckDBType, type DuckDBValue, INTEGER, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { TABLE_NAMES, type TableName } from "../../catalog/tables.ts";
import { literal } from "../../core/text/sql-text.ts";
import { sqlText, textsOf } from "../duckdb/sql-files.ts";
import { instant, type Rows, type Sql, whole } from "../duckdb/statements.ts";
import type { Checkpoint, LoadCounts, QuotaReading, RequestRecord, ScopeState } from "../record/checkpoint.ts";
import { EVOLVING, type TableStrictness } from "../record/normalize-record.ts";
import { type ChangeLog, NOTHING_REDACTED, openChangeLog, type RedactedChanges } from "./change-log.ts";
import { collectBatch, type PlacedLoad, type TableBatch } from "./collect-batch.ts";
import { loadBatch, rowsByLoad } from "./load-batch.ts";

// Stores the states of scopes. A commit usually changes one, which takes one plain statement, without a temporary
// table. In a large table each such statement reads all of it (keys of two columns are not looked up), so several go
// through a temporary table.

/** Most states that are written one by one. */
const ONE_BY_ONE = 1;

const TEXTS = [VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR];
const STATE_TYPES = [
  ...TEXTS,
  ...[TIMESTAMPTZ, BIGINT, BIGINT, TIMESTAMPTZ, TIMESTAMPTZ, VARCHAR, VARCHAR, BIGINT, VARCHAR],
];

/** A state's values, in the order of the statements. */
const valuesOf = (state: ScopeState) => [
  state.stream,
  state.scope,
  state.status,
  state.walkId,
  state.cursor,
  instant(state.watermark),
  whole(state.totalCount),
  whole(state.rowsAtWalk),
  instant(state.checkedAt),
  instant(state.walkedAt),
  state.error,
  state.runId,
  whole(state.unconfirmed?.rows ?? 0),
  state.unconfirmed?.because ?? null,
];

/** Stores scope states; the last one of a stream and scope counts. */
export const writeScopeStates = async (tx: Sql, states: readonly ScopeState[]): Promise<void> => {
  const rows = new Map<string, ReturnType<typeof valuesOf>>();
  for (const state of states) rows.set(`${state.stream}\n${state.scope}`, valuesOf(state));
  if (rows.size > ONE_BY_ONE) {
    await writeThrough(tx, "stream_state", STATE_TYPES, [...rows.values()], "warehouse/upsert-scope-states.sql");
    return;
  }
  for (const values of rows.values()) {
    if ((await tx.run(sqlText("warehouse/update-scope-state.sql"), values)) > 0) continue;
    await tx.run(sqlText("warehouse/insert-scope-state.sql"), values);
  }
};

const CREDITS = { spent: 1, free: 0, ambiguous: null } as const;

const REQUEST_TYPES = [
  ...[...TEXTS, VARCHAR, INTEGER, VARCHAR, INTEGER, TIMESTAMPTZ, DOUBLE, BIGINT, BIGINT, INTEGER],
  ...[VARCHAR, VARCHAR, VARCHAR, VARCHAR],
];

/** Stores the ledger rows of a commit. A request that is committed already stays unchanged. */
const writeRequests = async (tx: Sql, requests: readonly RequestRecord[], committed: ReadonlySet<string>) => {
  const rows = new Map<string, DuckDBValue[]>();
  for (const request of requests) {
    if (committed.has(request.requestId)) continue;
    rows.set(request.requestId, [
      request.requestId,
      request.runId,
      request.stream,
      request.scope,
      request.endpoint,
      request.url,
      request.status,
      request.charge,
      CREDITS[request.charge],
      instant(request.startedAt),
      request.durationMs,
      whole(request.bytes),
      whole(request.rows),
      request.attempt,
      request.error,
      request.serviceRequestId,
      request.apiVersion,
      request.work,
    ]);
  }
  if (rows.size > 0) await tx.append("sync.requests", REQUEST_TYPES, [...rows.values()]);
};

const DRIFT_TYPES = [VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, TIMESTAMPTZ, TIMESTAMPTZ, VARCHAR];

const writeDrift = (tx: Sql, { table, drift }: TableBatch, seenAt: number, runId: string) => {
  const at = instant(seenAt);
  const rows = drift.map(({ field, kind, detail, occurrences }) => [
    ...[table, field, kind, detail],
    ...[whole(occurrences), at, at, runId],
  ]);
  return writeThrough(tx, "schema_drift", DRIFT_TYPES, rows, "warehouse/upsert-schema-drift.sql");
};

const REJECT_TYPES = [TIMESTAMPTZ, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR];

const writeRejects = (tx: Sql, { rejects }: TableBatch, runId: string) => {
  const rows = rejects.map(({ load, position, reject }): DuckDBValue[] => [
    instant(load.receivedAt),
    runId,
    load.requestId,
    load.stream,
    load.table,
    whole(position),
    reject.reason,
    reject.record,
  ]);
  return tx.append("sync.rejects", REJECT_TYPES, rows);
};

const writeSeen = (tx: Sql, { table, seen }: TableBatch) => {
  const rows = seen.map(({ walkId, companyId, id }) => [walkId, table, companyId, id]);
  return tx.append("sync.walk_seen", [VARCHAR, VARCHAR, VARCHAR, VARCHAR], rows);
};

/** Requests of a checkpoint that are committed already. Written as literals, so that the primary key's index is used. */
const committedRequests = async (sql: Sql, { loads, requests }: Checkpoint): Promise<ReadonlySet<string>> => {
  const ids = new Set<string>();
  for (const { requestId } of loads) ids.add(literal(requestId));
  for (const { requestId } of requests) ids.add(literal(requestId));
  if (ids.size === 0) return ids;
  const query = `SELECT request_id FROM sync.requests WHERE request_id IN (${[...ids].join(", ")})`;
  return new Set(await textsOf(sql, query));
};

/** Inserts rows into a table of schema sync with a statement that reads them from `incoming`. */
const writeThrough = async (tx: Sql, table: string, types: readonly DuckDBType[], rows: Rows, statement: string) => {
  await tx.run(`CREATE OR REPLACE TEMP TABLE incoming AS SELECT * FROM sync.${table} LIMIT 0`);
  await tx.append("incoming", types, rows);
  await tx.run(sqlText(statement));
};

const writeBatch = async (tx: Sql, batch: TableBatch, { runId, loads }: Checkpoint, log: ChangeLog) => {
  let seenAt = 0;
  for (const { receivedAt } of loads) seenAt = Math.max(seenAt, receivedAt);
  const counts = await loadBatch(tx, batch, { runId, at: seenAt, log });
  if (batch.seen.length > 0) await writeSeen(tx, batch);
  if (batch.rejects.length > 0) await writeRejects(tx, batch, runId);
  if (batch.drift.length > 0) await writeDrift(tx, batch, seenAt, runId);
  return counts;
};

const writeQuota = async (tx: Sql, quota: QuotaReading, runId: string, log: ChangeLog) => {
  const { capturedAt, limit, used, remaining, resetsAt } = quota;
  const values = [instant(capturedAt), limit, used, remaining, instant(resetsAt), runId, await log.after()];
  const inserted = await tx.run(sqlText("warehouse/insert-quota.sql"), values);
  if (inserted === 0) return;
  const kind = { table: "usage_snapshots", change: "insert", runId, at: capturedAt } as const;
  await log.add(kind, inserted, `(SELECT make_timestamptz(${Math.round(capturedAt * 1000)}) AS captured_at)`);
};

const NOTHING: LoadCounts = { inserted: 0, updated: 0, unchanged: 0, rejected: 0 };

/** The loads of a table that are not committed yet, with their places in the checkpoint. */
const loadsOf = (table: TableName, { loads }: Checkpoint, committed: ReadonlySet<string>): readonly PlacedLoad[] => {
  const mine: PlacedLoad[] = [];
  for (const [index, load] of loads.entries()) {
    if (load.table === table && !committed.has(load.requestId)) mine.push({ load, index });
  }
  return mine;
};

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
  const committed = await committedRequests(tx, checkpoint);
  const counts: LoadCounts[] = new Array<LoadCounts>(checkpoint.loads.length).fill(NOTHING);
  const log = openChangeLog(tx, past);

  for (const table of TABLE_NAMES) {
    const mine = loadsOf(table, checkpoint, committed);
    if (mine.length === 0) continue;
    const batch = collectBatch(table, mine, strictness(table));
    const written = await writeBatch(tx, batch, checkpoint, log);
    const total = rowsByLoad(batch.rows);
    for (const { index, load } of mine) {
      const inserted = written.inserted.get(index) ?? 0;
      const updated = written.updated.get(index) ?? 0;
      const unchanged = (total.get(index) ?? 0) - inserted - updated;
      let [rejected, misfits] = [0, 0];
      for (const reject of batch.rejects) {
        if (reject.load !== load) continue;
        if (reject.seen) misfits += 1;
        else rejected += 1;
      }
      counts[index] = { inserted, updated, unchanged, rejected, ...(misfits === 0 ? {} : { misfits }) };
    }
  }
  await writeScopeStates(tx, checkpoint.scopes);
  await writeRequests(tx, checkpoint.requests, committed);
  if (checkpoint.quota !== null) await writeQuota(tx, checkpoint.quota, checkpoint.runId, log);
  await log.end();
  return counts;
};
