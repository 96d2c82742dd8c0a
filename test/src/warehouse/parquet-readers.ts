// Two Parquet readers that share no code with DuckDB or with each other: hyparquet (JavaScript) and the Rust crate
// (parquet-wasm, through Arrow). Both give rows as plain values: instants as microseconds, JSON as text.
import { readFileSync } from "node:fs";
import { type DataType, tableFromIPC, Vector } from "apache-arrow";
import { parquetMetadata, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { readParquet } from "parquet-wasm";

export interface ReadFile {
  /** Column → type, in the words of the reader. */
  readonly types: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const plain = (value: unknown): unknown => (value === undefined ? null : value);

export const readWithHyparquet = async (path: string): Promise<ReadFile> => {
  // One reading of the whole file: opened twice, it could be the old file the first time and its successor the second.
  const bytes = readFileSync(path);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const metadata = parquetMetadata(file);
  const decoder = new TextDecoder();
  const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? null : decoder.decode(bytes));
  const rows = await parquetReadObjects({
    file,
    compressors,
    parsers: {
      timestampFromMicroseconds: (micros) => micros,
      jsonFromBytes: text,
    },
  });
  const types = parquetSchema(metadata).children.map(({ element, children }) => {
    const instant = element.logical_type?.type === "TIMESTAMP" && element.logical_type.isAdjustedToUTC;
    const name = instant ? "UTC micros" : (element.converted_type ?? element.type ?? "");
    return [
      element.name,
      children.length > 0 ? `${name} of ${children[0]?.children[0]?.element.converted_type}` : name,
    ];
  });
  return {
    types: Object.fromEntries(types),
    rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))),
  };
};

/** Values of a column; Arrow's own reading of instants would cut the microseconds. */
const cellsOf = (column: Vector<DataType>): unknown[] =>
  column.data.flatMap((chunk) =>
    Array.from({ length: chunk.length }, (_, index) => {
      if (!chunk.getValid(index)) return null;
      return chunk.values instanceof BigInt64Array ? chunk.values[index] : undefined;
    }),
  );

/** A list comes as a vector of its own. */
const listed = (value: unknown): unknown =>
  value instanceof Vector ? Array.from({ length: value.length }, (_, index) => plain(value.get(index))) : plain(value);

export const readWithArrow = (path: string): ReadFile => {
  const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream());
  const columns = table.schema.fields.map((field) => {
    const column = table.getChild(field.name);
    const raw = column === null ? [] : cellsOf(column);
    const cells = Array.from({ length: table.numRows }, (_, row) => {
      const exact = raw[row];
      return exact === undefined ? listed(column?.get(row)) : exact;
    });
    return { name: field.name, type: String(field.type), cells };
  });
  return {
    types: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
    rows: Array.from({ length: table.numRows }, (_, row) =>
      Object.fromEntries(columns.map(({ name, cells }) => [name, cells[row]])),
    ),
  };
};
