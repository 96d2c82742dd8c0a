// Appends rows to a table column by column, in chunks of DuckDB's vector size, the fastest way to insert (decision
// 0001).
import { type DuckDBConnection, DuckDBDataChunk, type DuckDBType, type DuckDBValue } from "@duckdb/node-api";

// Ranges of row ids that cover the rows of a large table, so that a scan reads only these. Pure.

/** Rows farther apart than this are read by separate scans. */
const RANGE_GAP = 50_000n;

interface RowRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Ranges that cover `sorted`, split at large gaps. */
export const rangesOf = (sorted: readonly bigint[]): readonly RowRange[] => {
  const ranges: { from: bigint; to: bigint }[] = [];
  for (const row of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && row - last.to <= RANGE_GAP) last.to = row;
    else ranges.push({ from: row, to: row });
  }
  return ranges;
};

/** At most `CHUNK_ROWS` rows: one array per column, all of the same length. */
export type ColumnChunk = readonly (readonly DuckDBValue[])[];

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
