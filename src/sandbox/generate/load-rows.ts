// Writes generated rows into the warehouse. SQL is built from the catalog: a table's columns are its fields.
import type { ColumnType } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import type { Row } from "./rows.ts";

/** The part of a database that loading needs. */
export interface Writer {
  run(sql: string, params?: readonly string[]): Promise<number>;
}

/** Most text in one statement, so that long transcripts do not accumulate in memory. */
const MAX_BATCH_CHARS = 8_000_000;

const structure = (type: ColumnType): string | readonly string[] => (type === "VARCHAR[]" ? ["VARCHAR"] : type);

/** Inserts rows from one JSON array (`$1`); `$2` is their creation time, ISO 8601. */
const insertStatement = (table: TableName): string => {
  const { fields } = tableSpec(table);
  const shape = JSON.stringify([
    Object.fromEntries(fields.map(({ name, columnType }) => [name, structure(columnType)])),
  ]);
  const columns = fields.map(({ column }) => `"${column}"`).join(", ");
  const values = fields.map(({ name }) => `r."${name}"`).join(", ");
  return `INSERT INTO main."${table}" (${columns}, _first_synced_at, _synced_at, _run_id)
SELECT ${values}, CAST($2 AS TIMESTAMPTZ), CAST($2 AS TIMESTAMPTZ), 'sandbox'
FROM (SELECT unnest(from_json(CAST($1 AS JSON), '${shape}')) AS r)`;
};

const written = (row: Row): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, typeof cell === "function" ? cell() : cell])),
  );

/** Inserts all rows, in batches. `at`: ISO 8601. */
export const loadRows = async (writer: Writer, table: TableName, rows: readonly Row[], at: string): Promise<void> => {
  const sql = insertStatement(table);
  let batch: string[] = [];
  let chars = 0;
  const flush = async () => {
    if (batch.length > 0) await writer.run(sql, [`[${batch.join(",")}]`, at]);
    batch = [];
    chars = 0;
  };
  for (const row of rows) {
    const text = written(row);
    batch.push(text);
    chars += text.length;
    if (chars >= MAX_BATCH_CHARS) await flush();
  }
  await flush();
};
