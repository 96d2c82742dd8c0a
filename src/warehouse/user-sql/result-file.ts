// Writes the rows of a query to a file that the server's page downloads: CSV, JSON, NDJSON or Parquet. No more than one batch of rows is in memory. Parquet is made by a
// DuckDB of duckmirror's own, because the process of a user's SQL can write no file.
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { DuckmirrorError, detailOf, isCode } from "../../core/errors.ts";
import { streamNew } from "../../core/files/own-files.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import { openDatabase } from "../duckdb/database.ts";
import type { OutValue } from "../duckdb/out-values.ts";
import { cellJson, type QueryColumn, type QueryCursor, textOf, uniqueNames } from "./query-output.ts";

export type FileFormat = "csv" | "json" | "ndjson" | "parquet";

export interface ResultFile {
  readonly path: string;
  readonly bytes: number;
  readonly rows: number;
}

/** A row of 8 million characters takes three times as many bytes; DuckDB holds two objects of this size. */
const MOST_ROW_BYTES = 32 * 1024 * 1024;
/** Rows of one group: DuckDB holds a group in memory until it is written. */
const GROUP_ROWS = 20_480;

/** Types that Parquet has, and lists of them. A type comes from the process of a user's SQL: no other text becomes SQL. */
const PLAIN_TYPE =
  /^(BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|DATE|TIME|TIMESTAMP( WITH TIME ZONE)?|UUID)(\[\])*$/;

/** The type of a column in Parquet. HUGEINT would lose digits there; what has no type becomes its JSON text. */
const parquetType = (type: string): string =>
  /^U?HUGEINT$/.test(type) ? "DECIMAL(38,0)" : PLAIN_TYPE.test(type) ? type : "VARCHAR";

const asText = (cell: OutValue): OutValue => (cell === null || typeof cell === "string" ? cell : cellJson(cell));

async function* within(mostBytes: number, pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += Buffer.byteLength(piece);
    if (bytes > mostBytes) {
      throw new DuckmirrorError("QUERY_LIMIT", { detail: `its file has more than ${mostBytes / 2 ** 30} GiB` });
    }
    yield piece;
  }
}

/** Columns by position, because names may be any text; values without a type in Parquet as text. */
const positioned = ({ columns, batches }: QueryCursor): QueryCursor => {
  const isText = columns.map(({ type }) => parquetType(type) === "VARCHAR");
  const named = columns.map((_column, at) => ({ name: `c${at}`, type: "" }));
  const textual = async function* () {
    for await (const batch of batches) {
      yield batch.map((row) => row.map((cell, at) => (isText[at] ? asText(cell) : cell)));
    }
  };
  return { columns: named, batches: textual() } as const;
};

/** Error for the reader when rows cannot become Parquet. DuckDB's text names a file of this machine. */
const parquetError = (error: unknown): unknown => {
  const otherFormat = "download it as CSV or JSON";
  if (isCode(error, "NO_MEMORY"))
    return new DuckmirrorError("QUERY_LIMIT", { detail: `its rows are too large for Parquet here: ${otherFormat}` });
  if (error instanceof DuckmirrorError || !/\b(?:cast|convert|out of range)\b/i.test(detailOf(error))) return error;
  const detail = `Parquet cannot hold one of its dates or numbers: cast the column to VARCHAR, or ${otherFormat}`;
  return new DuckmirrorError("QUERY_FAILED", { detail }, { cause: error });
};

/** Turns the rows in a folder into Parquet there. Throws QUERY_LIMIT, QUERY_FAILED, DISK_FULL. */
const toParquet = async (folder: string, from: string, to: string, columns: readonly QueryColumn[]): Promise<void> => {
  const types = columns.map(({ type }, at) => `c${at}: ${literal(parquetType(type))}`).join(", ");
  const names = uniqueNames(columns).map((name, at) => `c${at} AS ${quoted(name)}`);
  const database = await openDatabase(":memory:", {
    onlyFolder: folder,
    tempDir: folder,
    threads: 1,
    memoryLimit: "512MB",
  });
  try {
    await database.run(
      `COPY (SELECT ${names.join(", ")} FROM read_json(${literal(from)}, format = 'newline_delimited',
        compression = 'gzip', maximum_object_size = ${MOST_ROW_BYTES}, columns = {${types}}))
      TO ${literal(to)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${GROUP_ROWS})`,
    );
  } catch (error) {
    throw parquetError(error);
  } finally {
    await database.close();
  }
};

/** Writes the rows to a file in an empty folder of their own. Throws QUERY_LIMIT beyond `mostBytes` of text. */
export const writeResultFile = async (
  cursor: QueryCursor,
  { format, folder, mostBytes }: { readonly format: FileFormat; readonly folder: string; readonly mostBytes: number },
): Promise<ResultFile> => {
  const path = join(folder, `result.${format}`);
  let rows = 0;
  const count = (more: number) => {
    rows += more;
  };
  if (format === "parquet") {
    const staged = join(folder, "rows.gz");
    const text = textOf("ndjson", positioned(cursor), count);
    await pipeline(Readable.from(within(mostBytes, text)), createGzip({ level: 1 }), streamNew(staged));
    await toParquet(folder, staged, path, cursor.columns);
    await rm(staged);
  } else {
    await pipeline(Readable.from(within(mostBytes, textOf(format, cursor, count))), streamNew(path));
  }
  return { path, rows, bytes: (await stat(path)).size };
};
