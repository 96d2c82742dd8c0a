// Stores the states of scopes. A commit usually changes one, which takes one plain statement, without a temporary
// table. In a large table each such statement reads all of it (keys of two columns are not looked up), so several go
// through a temporary table.
import { BIGINT, type DuckDBValue, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { instant, type SqlValue } from "../duckdb/duck-values.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";
import type { ScopeState } from "../record/checkpoint.ts";
import { at, whole, writeThrough } from "./sync-rows.ts";

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
