// Writes one table's batch: stages it, finds the stored rows with the same keys, moves their old versions to history,
// replaces changed rows. Stored rows scattered over a large table are the expensive case (figures in
// docs/decisions/loading.md).
import { BIGINT, BOOLEAN, type DuckDBType, type DuckDBValue, INTEGER, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { z } from "zod";
import { perTable, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import { instant, rangesOf, type Sql } from "../duckdb/statements.ts";
import { DUCK_TYPES, duckCell } from "../record/convert-cell.ts";
import { isSameJson, joinExtra, splitExtra } from "../record/json-text.ts";
import type { ChangeLog } from "./change-log.ts";
import { type BatchRow, mergeExtra, type TableBatch } from "./collect-batch.ts";
import { type MergeSql, mergeSql, type OldRows } from "./merge-sql.ts";

/** Index of a load of the checkpoint → rows. */
type RowsByLoad = ReadonlyMap<number, number>;
const NO_ROWS: RowsByLoad = new Map();
const NO_LOADS: ReadonlySet<number> = new Set();

interface BatchCounts {
  readonly inserted: RowsByLoad;
  readonly updated: RowsByLoad;
}

/** A partial row: not every field was asked for, so the stored values of the others stay. */
const isPartial = ({ row }: BatchRow): boolean => row.kept !== 0n || !row.full;

/** Types of the stage's columns. */
const stageTypes = perTable((table): readonly DuckDBType[] => [
  ...tableSpec(table).fields.map(({ columnType }) => DUCK_TYPES[columnType]),
  ...[VARCHAR, BIGINT, BOOLEAN, INTEGER, TIMESTAMPTZ, INTEGER],
]);

const stageRows = async (tx: Sql, spec: TableSpec, sql: MergeSql, rows: readonly BatchRow[]) => {
  const staged: DuckDBValue[][] = [];
  for (const [place, batchRow] of rows.entries()) {
    const { row, loadIndex, receivedAt } = batchRow;
    const values: DuckDBValue[] = [];
    for (const [index, { columnType }] of spec.fields.entries()) {
      values.push(duckCell(columnType, row.cells[index] ?? null));
    }
    values.push(joinExtra(row.extra), row.kept, isPartial(batchRow), loadIndex, instant(receivedAt), place);
    staged.push(values);
  }
  await tx.run(sql.createStage);
  await tx.append("stage", stageTypes(spec.name), staged);
};

/** Rows that a scan of the key column reads in the time of one lookup in the primary key's index. Measured. */
const SCANNED_PER_LOOKUP = { BIGINT: 500, other: 100 } as const;
/** Rows that a scan of whole rows reads in the time of fetching one row by its key. Measured. */
const SCANNED_PER_FETCH = 100;
/** Rows outside a range that a scan skips by row id in the time of reading one row. Measured. */
const PASSED_PER_SCANNED = 150;

const BY_KEYS: OldRows = { by: "keys" };

/**
 * Number of keys up to which a join may use the index while finding rows; in a small table, more keys take longer
 * than a scan.
 */
const FEW_KEYS = 50;
/**
 * Lets later joins by key use the primary key's index for up to `keys` keys. Only keys of one column support lookups.
 */
const lookUp = (tx: Sql, keys: number) => tx.run(sqlText("warehouse/lookup-by-key.sql"), [keys]);

const foundRow = z.object({ row: z.union([z.bigint(), z.number()]).transform(BigInt) });

/** Positions of the stored rows of a large table with the batch's keys; null if there are none. */
const findOld = async (tx: Sql, spec: TableSpec, sql: MergeSql, rows: readonly BatchRow[]): Promise<OldRows | null> => {
  const size = (await numberOf(tx, sqlText("warehouse/table-size.sql"), [spec.name])) ?? 0;
  const keyTypes = spec.key.map((key) => spec.fields.find(({ column }) => column === key)?.columnType);
  const hasLookups = keyTypes.length === 1;
  const worth = rows.length * (keyTypes[0] === "BIGINT" ? SCANNED_PER_LOOKUP.BIGINT : SCANNED_PER_LOOKUP.other);
  await lookUp(tx, hasLookups && size > worth ? rows.length : FEW_KEYS);
  await tx.run(sql.find);
  const found = (await tx.query(sqlText("warehouse/found-rows.sql"), [], foundRow)).map(({ row }) => row);
  const [first, last] = [found[0], found.at(-1)];
  if (first === undefined || last === undefined) return null;
  const ranges = rangesOf(found);
  const scanned = Number(ranges.reduce((sum, { from, to }) => sum + to - from + 1n, 0n));
  const costOfScan = scanned + size / PASSED_PER_SCANNED;
  const scattered = hasLookups && costOfScan > SCANNED_PER_FETCH * found.length;
  await lookUp(tx, scattered ? rows.length : FEW_KEYS);
  return scattered ? BY_KEYS : { by: "range", ranges };
};

/** Creates `old` and returns the positions of its rows; null if there are none. */
const createOld = async (
  tx: Sql,
  spec: TableSpec,
  sql: MergeSql,
  rows: readonly BatchRow[],
): Promise<OldRows | null> => {
  const isLarge = (await numberOf(tx, sql.isLarge)) !== null;
  const old = isLarge ? await findOld(tx, spec, sql, rows) : BY_KEYS;
  if (old === null) {
    await tx.run(sql.noOld);
    return null;
  }
  const found = await numberOf(tx, old.by === "keys" ? sql.oldByKeys : sql.oldInRanges(old.ranges));
  return found === 0 ? null : old;
};

const storedRow = z.object({ row: z.number(), extra: z.string() });

/** Rows received in part keep those entries of the stored `_extra` that they do not mention. */
const keepStoredExtra = async (tx: Sql, spec: TableSpec, sql: MergeSql, rows: readonly BatchRow[]) => {
  const stored = await tx.query(sql.storedExtra, [], storedRow);
  const merged = stored.flatMap(({ row, extra }) => {
    const later = rows[row]?.row;
    return later === undefined ? [] : [[row, joinExtra(mergeExtra(spec, splitExtra(extra), later))]];
  });
  if (merged.length === 0) return;
  await tx.run(sqlText("warehouse/merged-extra-table.sql"));
  await tx.append("merged_extra", [INTEGER, VARCHAR], merged);
  await tx.run(sqlText("warehouse/use-merged-extra.sql"));
};

const texts = z.array(z.string().nullable());
const reorderedRow = foundRow.extend({ fresh: texts, stored: texts });

/** Drops rows whose only change is the member order of a JSON object. */
const dropReordered = async (tx: Sql, sql: MergeSql) => {
  const rows = await tx.query(sql.reordered, [], reorderedRow);
  const same = rows.filter(({ fresh, stored }) =>
    fresh.every((text, index) => text === stored[index] || isSameJson(text ?? "", stored[index] ?? "")),
  );
  if (same.length === 0) return;
  await tx.run(`DELETE FROM changed WHERE _old IN (${same.map(({ row }) => row).join(", ")})`);
};

const countRow = z.object({ load: z.number(), rows: z.number() });
const countByLoad = async (tx: Sql, statement: string): Promise<RowsByLoad> => {
  const counts = new Map<number, number>();
  for (const { load, rows } of await tx.query(statement, [], countRow)) counts.set(load, rows);
  return counts;
};

/** Rows of the batch by load, without those of the loads `besides`. */
export const rowsByLoad = (rows: readonly BatchRow[], besides: ReadonlySet<number> = NO_LOADS): RowsByLoad => {
  const counts = new Map<number, number>();
  for (const { loadIndex } of rows) {
    if (!besides.has(loadIndex)) counts.set(loadIndex, (counts.get(loadIndex) ?? 0) + 1);
  }
  return counts;
};

/**
 * Stages the batch (`stage`) beside the stored rows with its keys (`old`), on the connection of `tx`. Changes no
 * table of the file. Returns the positions of the old rows; null if there are none.
 */
export const stageBatch = async (tx: Sql, batch: TableBatch): Promise<OldRows | null> => {
  const spec = tableSpec(batch.table);
  const sql = mergeSql(batch.table);
  await stageRows(tx, spec, sql, batch.rows);
  const old = await createOld(tx, spec, sql, batch.rows);
  if (batch.knownOnly.size > 0) await tx.run(sql.dropUnknown([...batch.knownOnly]));
  if (old !== null && batch.rows.some(isPartial)) await keepStoredExtra(tx, spec, sql, batch.rows);
  return old;
};

const sumOf = (counts: RowsByLoad): number => {
  let sum = 0;
  for (const rows of counts.values()) sum += rows;
  return sum;
};

/**
 * Merges the batch into its table inside `tx`, and adds its changes to the feed: updates, then inserts. Each key occurs
 * at most once in the batch. `at`: time of the changes, ms since the epoch.
 */
export const loadBatch = async (
  tx: Sql,
  batch: TableBatch,
  { runId, at, log }: { readonly runId: string; readonly at: number; readonly log: ChangeLog },
): Promise<BatchCounts> => {
  const sql = mergeSql(batch.table);
  const { rows, table, knownOnly } = batch;
  if (rows.length === 0) return { inserted: NO_ROWS, updated: NO_ROWS };
  const old = await stageBatch(tx, batch);
  let updated = NO_ROWS;
  if (old !== null) {
    let keptMask = 0n;
    for (const { row } of rows) keptMask |= row.kept;
    if ((await numberOf(tx, sql.createChanged(keptMask), [await log.after()])) !== 0) {
      await dropReordered(tx, sql);
      updated = await countByLoad(tx, sql.updatedByLoad);
    }
    if (updated.size > 0) {
      const number = await log.add({ table, change: "update", runId, at }, sumOf(updated), "changed");
      await tx.run(sql.copyOldToHistory(number));
      await tx.run(sql.deleteChanged[old.by]);
      await tx.run(sql.insertChanged, [runId]);
    }
  }
  const inserted = old === null ? rowsByLoad(rows, knownOnly) : await countByLoad(tx, sql.insertedByLoad);
  if (inserted.size > 0) {
    await log.add({ table, change: "insert", runId, at }, sumOf(inserted), old === null ? "stage" : sql.newRows);
    await tx.run(sql.insertNew, [await log.after(), runId]);
  }
  return { inserted, updated };
};
