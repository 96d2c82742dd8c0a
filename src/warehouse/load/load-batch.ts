// Writes one table's batch: stages it, finds the stored rows with the same keys, moves their old versions to history,
// replaces changed rows. Stored rows scattered over a large table are the expensive case (figures in
// docs/decisions/loading.md).
import { BIGINT, BOOLEAN, type DuckDBType, type DuckDBValue, INTEGER, TIMESTAMPTZ, VARCHAR } from "@duckdb/node-api";
import { z } from "zod";
import { isStreamName, streamSpec } from "../../catalog/streams.ts";
import { perTable, type TableName, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { rangesOf } from "../duckdb/row-ranges.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import { bigintCell, instant, type Sql } from "../duckdb/statements.ts";
import { DUCK_TYPES, duckCell } from "../record/convert-cell.ts";
import { isSameJson, joinExtra, splitExtra } from "../record/json-text.ts";
import type { ChangeLog } from "./change-log.ts";
import { type BatchRow, mergeExtra, type TableBatch } from "./collect-batch.ts";

// The statements of a table's merge, generated from the catalog once (golden-file test). Pure. They delete and insert instead of
// ON CONFLICT or MERGE: docs/decisions/loading.md.

type Ranges = readonly { readonly from: bigint; readonly to: bigint }[];

/**
 * Positions of the old rows: close together (scans of these ranges) or scattered (a join by key, by index lookups).
 */
type OldRows = { readonly by: "range"; readonly ranges: Ranges } | { readonly by: "keys" };

interface MergeSql {
  /** The batch, one row per key. */
  readonly createStage: string;
  /** One row if the table is no small one, else none. Reads no further than that. */
  readonly isLarge: string;
  /** Row ids of stored rows with the batch's keys. */
  readonly find: string;
  /** Old rows by key, or in ranges of row ids that `find` found. */
  readonly oldByKeys: string;
  readonly oldInRanges: (ranges: Ranges) => string;
  /** An empty set of old rows, for a batch whose keys are all new. */
  readonly noOld: string;
  /** Drops rows of these loads that are not stored, or are stored in a newer version. */
  readonly dropUnknown: (loads: readonly number[]) => string;
  /**
   * Rows that differ from the old version. `keptMask`: fields that at least one row keeps; $1: the earliest time at which a
   * version may begin.
   */
  readonly createChanged: (keptMask: bigint) => string;
  /** Stored `_extra` of rows received in part; `row` is the index in the batch. */
  readonly storedExtra: string;
  /** New rows per load, and changed rows per load. */
  readonly insertedByLoad: string;
  readonly updatedByLoad: string;
  /** Changed rows that differ only in JSON columns, by no more than the order of characters. */
  readonly reordered: string;
  /** `number`: SQL expression of the number of the change, over the alias `k`. */
  readonly copyOldToHistory: (number: string) => string;
  /** New rows as a source for the change feed. */
  readonly newRows: string;
  readonly deleteChanged: Readonly<Record<OldRows["by"], string>>;
  /** $1: the run. */
  readonly insertChanged: string;
  /** $1: the earliest time at which a version may begin; $2: the run. */
  readonly insertNew: string;
}

/** Tables with at most this many rows are scanned whole: locating the rows first would cost more than it saves. */
const SMALL_TABLE = 4096;

const columnsOf = (spec: TableSpec) => spec.fields.map(({ column }) => quoted(column));
/** Condition that joins the aliases `a` and `b` by the key. */
export const keyJoin = (spec: TableSpec, a: string, b: string) =>
  spec.key.map((column) => `${a}.${quoted(column)} = ${b}.${quoted(column)}`).join(" AND ");
const prefixed = (columns: readonly string[], alias: string) =>
  columns.map((column) => `${alias}.${column}`).join(", ");

/** Column with the date of a row's last change, where its list has one. */
export const versionColumn = (table: TableName): string | undefined => {
  const watermark = isStreamName(table) ? streamSpec(table).watermark : undefined;
  const field = tableSpec(table).fields.find(({ name }) => name === watermark);
  return field === undefined ? undefined : quoted(field.column);
};

/** When a version begins: as received, but after the one before it, which a clock that was ahead may have written. */
const BEGINS_AT = "greatest(s._received, o._synced_at + INTERVAL 1 MICROSECOND, $1)";

const createChanged = (spec: TableSpec, keptMask: bigint): string => {
  const bit = (index: number) => 1n << BigInt(index);
  const keeps = (index: number) => (keptMask & bit(index)) !== 0n;
  const merged = columnsOf(spec).map((column, index) =>
    keeps(index)
      ? `CASE WHEN s._kept & ${bit(index)} <> 0 THEN o.${column} ELSE s.${column} END AS ${column}`
      : `s.${column}`,
  );
  const differs = (json: boolean) =>
    spec.fields.flatMap(({ column, columnType }, index) => {
      if (spec.key.includes(column) || (columnType === "JSON") !== json) return [];
      const text = `s.${quoted(column)} IS DISTINCT FROM o.${quoted(column)}`;
      return [keeps(index) ? `(s._kept & ${bit(index)} = 0 AND ${text})` : text];
    });
  const plain = ["false", ...differs(false)].join(" OR ");
  const json = [...differs(true), "s._extra IS DISTINCT FROM o._extra"].join(" OR ");
  return `CREATE OR REPLACE TEMP TABLE changed AS SELECT ${merged.join(", ")}, o._first_synced_at, ${BEGINS_AT} AS _received, s._extra, s._load, o._old, NOT (${plain}) AS _only_json FROM stage AS s JOIN old AS o ON ${keyJoin(spec, "s", "o")} WHERE ${plain} OR ${json}`;
};

const reordered = (spec: TableSpec): string => {
  const json = spec.fields.filter(({ columnType }) => columnType === "JSON").map(({ column }) => quoted(column));
  const columns = [...json, "_extra"];
  const texts = (alias: string) => `[${columns.map((column) => `CAST(${alias}.${column} AS VARCHAR)`).join(", ")}]`;
  const sameLengths = columns.map(
    (column) => `length(CAST(c.${column} AS VARCHAR)) IS NOT DISTINCT FROM length(CAST(o.${column} AS VARCHAR))`,
  );
  return `SELECT c._old AS row, ${texts("c")} AS fresh, ${texts("o")} AS stored FROM changed AS c JOIN old AS o ON c._old = o._old WHERE c._only_json AND ${sameLengths.join(" AND ")}`;
};

/** Statements that merge the temporary table `stage` into a table. */
export const mergeSql = perTable((table): MergeSql => {
  const spec = tableSpec(table);
  const columns = columnsOf(spec);
  const main = `main.${quoted(table)}`;
  const history = `history.${quoted(table)}`;
  // Columns are named, because a later migration adds its columns at the end.
  const into = `(${columns.join(", ")}, _first_synced_at, _synced_at, _run_id, _extra)`;
  const intoHistory = `(${columns.join(", ")}, _first_synced_at, _synced_at, _run_id, _extra, valid_from, valid_to, change, change_n)`;
  const version = versionColumn(table);
  const types = spec.fields.map(({ column, columnType }) => `${quoted(column)} ${columnType}`);
  // The pages of a walk lack the same fields, so the statement of the last page serves the next one.
  let changed = { mask: -1n, text: "" };

  return {
    createStage: `CREATE OR REPLACE TEMP TABLE stage (${types.join(", ")}, _extra JSON, _kept BIGINT, _partial BOOLEAN, _load INTEGER, _received TIMESTAMPTZ, _row INTEGER)`,
    isLarge: `SELECT 1 AS present FROM ${main} LIMIT 1 OFFSET ${SMALL_TABLE}`,
    find: `CREATE OR REPLACE TEMP TABLE found AS SELECT t.rowid AS _old FROM ${main} AS t JOIN stage AS s ON ${keyJoin(spec, "t", "s")}`,
    oldByKeys: `CREATE OR REPLACE TEMP TABLE old AS SELECT t.*, t.rowid AS _old FROM ${main} AS t JOIN stage AS s ON ${keyJoin(spec, "t", "s")}`,
    oldInRanges: (ranges) => {
      const parts = ranges.map(
        ({ from, to }) =>
          `SELECT t.*, t.rowid AS _old FROM ${main} AS t JOIN found AS f ON t.rowid = f._old WHERE t.rowid BETWEEN ${from} AND ${to}`,
      );
      return `CREATE OR REPLACE TEMP TABLE old AS ${parts.join(" UNION ALL ")}`;
    },
    noOld: `CREATE OR REPLACE TEMP TABLE old AS SELECT t.*, t.rowid AS _old FROM ${main} AS t LIMIT 0`,
    dropUnknown: (loads) => {
      const older = version === undefined ? "" : ` AND NOT coalesce(s.${version} < o.${version}, false)`;
      return `DELETE FROM stage AS s WHERE s._load IN (${loads.join(", ")}) AND NOT EXISTS (SELECT 1 FROM old AS o WHERE ${keyJoin(spec, "s", "o")}${older})`;
    },
    createChanged: (keptMask) => {
      if (changed.mask !== keptMask) changed = { mask: keptMask, text: createChanged(spec, keptMask) };
      return changed.text;
    },
    storedExtra: `SELECT s._row AS row, o._extra AS extra FROM stage AS s JOIN old AS o ON ${keyJoin(spec, "s", "o")} WHERE s._partial AND o._extra IS NOT NULL AND s._extra IS DISTINCT FROM o._extra`,
    insertedByLoad: `SELECT s._load AS load, count(*) AS rows FROM stage AS s ANTI JOIN old AS o ON ${keyJoin(spec, "s", "o")} GROUP BY ALL`,
    updatedByLoad: "SELECT _load AS load, count(*) AS rows FROM changed GROUP BY ALL",
    reordered: reordered(spec),
    copyOldToHistory: (number) =>
      `INSERT INTO ${history} ${intoHistory} SELECT ${prefixed(columns, "o")}, o._first_synced_at, o._synced_at, o._run_id, o._extra, o._synced_at, k._received, 'update', ${number} FROM old AS o JOIN changed AS k ON k._old = o._old`,
    newRows: `(SELECT ${prefixed(spec.key.map(quoted), "s")} FROM stage AS s ANTI JOIN old AS o ON ${keyJoin(spec, "s", "o")})`,
    deleteChanged: {
      keys: `DELETE FROM ${main} AS t USING changed AS c WHERE ${keyJoin(spec, "t", "c")}`,
      range: `DELETE FROM ${main} WHERE rowid IN (SELECT _old FROM changed)`,
    },
    insertChanged: `INSERT INTO ${main} ${into} SELECT ${columns.join(", ")}, _first_synced_at, _received, $1, _extra FROM changed`,
    insertNew: `INSERT INTO ${main} ${into} SELECT ${prefixed(columns, "s")}, s._received, greatest(s._received, $1), $2, s._extra FROM stage AS s ANTI JOIN old AS o ON ${keyJoin(spec, "s", "o")}`,
  };
});

// Staging, finding and merging.

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
    values.push(
      row.extra.size === 0 ? null : joinExtra(row.extra),
      row.kept,
      isPartial(batchRow),
      loadIndex,
      instant(receivedAt),
      place,
    );
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

const foundRow = z.object({ row: bigintCell });

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
