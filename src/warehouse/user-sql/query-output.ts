// Formats the rows of a query as CSV, JSON, NDJSON or cells of a table. Pure.
// Values as the warehouse reads them: bigint where a double is not exact, times as ISO text, lists as arrays.
import type { OutValue } from "../duckdb/out-values.ts";

// The result of a query: its columns, and rows in batches or at once.

export interface QueryColumn {
  readonly name: string;
  /** Name of the type in DuckDB, e.g. `BIGINT`, `VARCHAR[]`. */
  readonly type: string;
}

export interface QueryCursor {
  readonly columns: readonly QueryColumn[];
  /** Rows in batches, as they become available. BIGINT is exact; times are ISO 8601 text in UTC. */
  readonly batches: AsyncIterable<readonly (readonly OutValue[])[]>;
}

export interface QueryResult {
  readonly columns: readonly QueryColumn[];
  readonly rows: readonly (readonly OutValue[])[];
}

export type QueryFormat = "table" | "csv" | "json" | "ndjson";

/** Converts rows to text: `head`, then each row, then `foot`. */
export interface RowWriter {
  readonly head: string;
  row(cells: readonly OutValue[], index: number): string;
  readonly foot: string;
}

/** JSON text of a value; integers keep every digit. JSON has no NaN and no Infinity: they become text. */
export const cellJson = (cell: OutValue): string => {
  if (typeof cell === "bigint") return String(cell);
  if (typeof cell === "number" && !Number.isFinite(cell)) return `"${cell}"`;
  if (isList(cell)) return `[${cell.map(cellJson).join(",")}]`;
  if (typeof cell === "object" && cell !== null) {
    return `{${Object.entries(cell)
      .map(([name, value]) => `${JSON.stringify(name)}:${cellJson(value)}`)
      .join(",")}}`;
  }
  return JSON.stringify(cell);
};

const isList = (cell: OutValue): cell is readonly OutValue[] => Array.isArray(cell);

/**
 * A JSON column is JSON text already and is inserted unchanged, without line ends, which occur only between tokens.
 */
const jsonCell = (cell: OutValue, type: string): string =>
  type === "JSON" && typeof cell === "string" ? cell.replace(/[\r\n]+/g, " ") : cellJson(cell);

/** Two columns of one name would lose one value in an object, so the second becomes `name_1`. */
export const uniqueNames = (columns: readonly QueryColumn[]): readonly string[] => {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let unique = name;
    for (let copy = 1; taken.has(unique); copy++) unique = `${name}_${copy}`;
    taken.add(unique);
    return unique;
  });
};

const objectOf = (columns: readonly QueryColumn[]) => {
  const keys = uniqueNames(columns).map((name) => JSON.stringify(name));
  return (cells: readonly OutValue[]) =>
    `{${keys.map((key, at) => `${key}:${jsonCell(cells[at] ?? null, columns[at]?.type ?? "")}`).join(",")}}`;
};

/** Text of a value without quotes. */
const plain = (cell: OutValue): string =>
  typeof cell === "string" || typeof cell === "number" ? String(cell) : cellJson(cell);

const csvText = (text: string): string =>
  text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** NULL is an empty cell, the empty text is `""`, so both are distinct. */
const csvCell = (cell: OutValue): string => (cell === null ? "" : csvText(plain(cell)));

/** RFC 4180: CRLF ends a line, quotes are doubled. */
const csvWriter = (columns: readonly QueryColumn[]): RowWriter => ({
  head: `${columns.map(({ name }) => csvText(name)).join(",")}\r\n`,
  row: (cells) => `${cells.map(csvCell).join(",")}\r\n`,
  foot: "",
});

const jsonWriter = (columns: readonly QueryColumn[]): RowWriter => {
  const toObject = objectOf(columns);
  return { head: "[", row: (cells, index) => `${index === 0 ? "\n" : ",\n"}${toObject(cells)}`, foot: "\n]\n" };
};

const ndjsonWriter = (columns: readonly QueryColumn[]): RowWriter => {
  const toObject = objectOf(columns);
  return { head: "", row: (cells) => `${toObject(cells)}\n`, foot: "" };
};

/** Writer of a format that is written row by row. */
export const rowWriter = (format: Exclude<QueryFormat, "table">, columns: readonly QueryColumn[]): RowWriter =>
  ({ csv: csvWriter, json: jsonWriter, ndjson: ndjsonWriter })[format](columns);

/** Approximate number of characters of a piece. */
const PIECE_CHARACTERS = 64 * 1024;

/** All rows as text, in pieces. `count` hears how many rows each batch has. */
export async function* textOf(
  format: Exclude<QueryFormat, "table">,
  { columns, batches }: QueryCursor,
  count: (rows: number) => void,
): AsyncGenerator<string, void> {
  const writer = rowWriter(format, columns);
  let text = writer.head;
  let index = 0;
  for await (const batch of batches) {
    count(batch.length);
    for (const row of batch) {
      text += writer.row(row, index++);
      if (text.length < PIECE_CHARACTERS) continue;
      yield text;
      text = "";
    }
  }
  yield text + writer.foot;
}

/** The first `most` rows. `more`: there are others. */
export const firstRows = async ({ columns, batches }: QueryCursor, most: number) => {
  const rows: (readonly OutValue[])[] = [];
  for await (const batch of batches) {
    for (const row of batch.slice(0, most + 1 - rows.length)) rows.push(row);
    if (rows.length > most) break;
  }
  return { columns, rows: rows.slice(0, most), more: rows.length > most };
};

/** Text of a value in a table: NULL is written out, lists and objects are JSON. */
export const tableCell = (cell: OutValue): string => (cell === null ? "NULL" : plain(cell));

/** Numbers are right-aligned. */
export const isNumeric = (type: string): boolean =>
  /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/.test(type);
