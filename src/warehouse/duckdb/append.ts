// Appends rows to a table column by column, in chunks of DuckDB's vector size, the fastest way to insert (decision
// 0001).
import { type DuckDBConnection, DuckDBDataChunk, type DuckDBType, type DuckDBValue } from "@duckdb/node-api";

/** At most `CHUNK_ROWS` rows: one array per column, all of the same length. */
export type ColumnChunk = readonly (readonly DuckDBValue[])[];

/** DuckDB's vector size. */
export const CHUNK_ROWS = 2048;

/**
 * Appends every chunk to `table` (`name` or `schema.name`), inside the connection's transaction if it has one. Returns
 * the number of rows.
 */
export const appendChunks = async (
  connection: DuckDBConnection,
  table: string,
  types: readonly DuckDBType[],
  chunks: Iterable<ColumnChunk>,
): Promise<number> => {
  const [name = table, schema] = table.split(".").reverse();
  const appender = await connection.createAppender(name, schema ?? null);
  let appended = 0;
  try {
    for (const columns of chunks) {
      const rows = columns[0]?.length ?? 0;
      const chunk = DuckDBDataChunk.create(types, rows);
      chunk.setColumns(columns);
      appender.appendDataChunk(chunk);
      appended += rows;
    }
    appender.flushSync();
    return appended;
  } finally {
    appender.closeSync();
  }
};
