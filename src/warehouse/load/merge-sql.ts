// Generates the upsert of a table from the catalog, once (golden-file test). Pure. It deletes and inserts instead of ON
// CONFLICT or MERGE: docs/decisions/loading.md.
import { isStreamName, streamSpec } from "../../catalog/streams.ts";
import { perTable, type TableName, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";

type Ranges = readonly { readonly from: bigint; readonly to: bigint }[];

/**
 * Positions of the old rows: close together (scans of these ranges) or scattered (a join by key, by index lookups).
 */
export type OldRows = { readonly by: "range"; readonly ranges: Ranges } | { readonly by: "keys" };

export interface MergeSql {
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
const keyJoin = (spec: TableSpec, a: string, b: string) =>
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
