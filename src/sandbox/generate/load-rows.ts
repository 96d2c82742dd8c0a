// Writes generated rows into a warehouse, in batches: appends a batch to a temporary table, then inserts it from there. The
// catalog gives the columns of the SQL: a table's columns are its fields.
import type { ColumnType } from "../../catalog/fields.ts";
import { type TableName, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import type { JsonValue } from "../../core/json.ts";
import type { Rows, Sql } from "../../warehouse/duckdb/statements.ts";
import { type Cell, convertCell, DUCK_TYPES, duckCell } from "../../warehouse/record/convert-cell.ts";

// Generated rows before loading: API field → value. Numeric ids are text, so that 64 bits stay exact.

/** A value; undefined: the optional field is missing; a function: long text, written only when the row is loaded. */
export type Row = Readonly<Record<string, JsonValue | undefined | (() => string)>>;

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** ISO 8601 text of ms since the epoch. */
export const iso = (ms: number): string => new Date(ms).toISOString();

/** Midnight UTC of the day of `ms`. */
export const day = (ms: number): string => iso(Math.floor(ms / DAY_MS) * DAY_MS);

/** The part of a transaction that loading needs. */
export type Writer = Pick<Sql, "run" | "append">;

const MAX_BATCH_ROWS = 2048;
/** Most text in one batch, so that long transcripts do not accumulate in memory. */
const MAX_BATCH_CHARS = 4_000_000;

const columnsOf = ({ fields }: TableSpec): string => fields.map(({ column }) => `"${column}"`).join(", ");

const cellOf = (type: ColumnType, value: Row[string]): Cell => {
  const written = typeof value === "function" ? value() : value;
  if (written === undefined || written === null) return null;
  return type === "JSON" ? JSON.stringify(written) : convertCell(type, written, "none").cell;
};

/** Values of the rows, in batches. A value that is a function returns its long text only now. */
function* batchesOf({ fields }: TableSpec, rows: Iterable<Row>): Iterable<Rows> {
  let batch: ReturnType<typeof duckCell>[][] = [];
  let chars = 0;
  for (const row of rows) {
    const cells = fields.map(({ name, columnType }) => {
      const cell = cellOf(columnType, row[name]);
      if (typeof cell === "string") chars += cell.length;
      return duckCell(columnType, cell);
    });
    batch.push(cells);
    if (batch.length < MAX_BATCH_ROWS && chars < MAX_BATCH_CHARS) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Inserts all rows. DuckDB inserts one batch while the next is generated. `at`: time of the rows, ISO 8601. */
export const loadRows = async (tx: Writer, table: TableName, rows: Iterable<Row>, at: string): Promise<void> => {
  const spec = tableSpec(table);
  const columns = columnsOf(spec);
  const types = spec.fields.map(({ columnType }) => DUCK_TYPES[columnType]);
  const insert = `INSERT INTO main."${table}" (${columns}, _first_synced_at, _synced_at, _run_id)
SELECT ${columns}, CAST($1 AS TIMESTAMPTZ), CAST($1 AS TIMESTAMPTZ), 'sandbox' FROM generated`;
  let writing: Promise<unknown> = Promise.resolve();
  for (const batch of batchesOf(spec, rows)) {
    await writing;
    await tx.run(`CREATE OR REPLACE TEMP TABLE generated AS SELECT ${columns} FROM main."${table}" LIMIT 0`);
    await tx.append("generated", types, batch);
    writing = tx.run(insert, [at]);
  }
  await writing;
};
