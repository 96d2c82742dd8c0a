// What a mirror holds, as a trial reads it: from the published snapshot, or from the tables of a mirror in memory.
import { DuckDBInstance } from "@duckdb/node-api";
import { isTableName, type TableName, tableSpec } from "../../src/catalog/tables.ts";
import type { Cell } from "../../src/warehouse/record/convert-cell.ts";
import { joinExtra } from "../../src/warehouse/record/json-text.ts";
import type { MemoryWarehouse } from "../support/memory-warehouse/memory-warehouse.ts";

export interface MirroredRow {
  /** Its key columns as text, joined by `|`. */
  readonly key: string;
  readonly extra: string | null;
  /** Texts, times as microseconds since the epoch; null: NULL. */
  readonly cells: readonly (string | null)[];
}

export interface MirrorContents {
  /** Columns and their SQL types. */
  types(table: string): Promise<ReadonlyMap<string, string>>;
  rows(table: string, key: readonly string[], columns: readonly string[]): Promise<readonly MirroredRow[]>;
  /** Streams that the mirror does not call complete. */
  openStreams(): Promise<readonly string[]>;
  ledger(): Promise<{ readonly spent: number; readonly ambiguous: number }>;
}

/** Reads the mirror after a run. */
export type ReadMirror = <T>(work: (contents: MirrorContents) => Promise<T>) => Promise<T>;

const TIME = "TIMESTAMP WITH TIME ZONE";
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const textOf = (cell: unknown): string | null => (cell === null ? null : String(cell));

/** A cell as text that DuckDB writes itself, so that no client type comes between. */
const asText = (name: string, type: string | undefined): string => {
  if (type === TIME) return `epoch_us(${quoted(name)})::VARCHAR`;
  return type?.endsWith("[]") ? `to_json(${quoted(name)})::VARCHAR` : `${quoted(name)}::VARCHAR`;
};

/** The snapshot, opened read-only as any reader does. */
export const publishedMirror =
  (path: string): ReadMirror =>
  async (work) => {
    const instance = await DuckDBInstance.create(path, { access_mode: "READ_ONLY", threads: "1" });
    const connection = await instance.connect();
    const query = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
      (await connection.runAndReadAll(sql)).getRowsJS();
    const types = async (table: string) => {
      const columns = await query(
        `SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${table}'`,
      );
      return new Map(columns.map(([column, type]) => [String(column), String(type)]));
    };
    try {
      return await work({
        types,
        rows: async (table, key, columns) => {
          const known = await types(table);
          const keyText = key.map((column) => `${quoted(column)}::VARCHAR`).join(" || '|' || ");
          const extra = known.has("_extra") ? "_extra::VARCHAR" : "NULL";
          const cells = columns.map((column) => asText(column, known.get(column)));
          const found = await query(`SELECT ${[keyText, extra, ...cells].join(", ")} FROM main.${table}`);
          return found.map(([id, more, ...values]) => ({
            key: String(id),
            extra: textOf(more),
            cells: values.map(textOf),
          }));
        },
        openStreams: async () =>
          (await query("SELECT stream FROM marts.freshness WHERE NOT complete")).map(([stream]) => String(stream)),
        ledger: async () => {
          const [row] = await query(
            "SELECT coalesce(sum(credits), 0)::INTEGER, count(*) FILTER (WHERE charge = 'ambiguous')::INTEGER FROM sync.requests",
          );
          return { spent: Number(row?.[0]), ambiguous: Number(row?.[1]) };
        },
      });
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  };

const cellText = (cell: Cell): string | null => (Array.isArray(cell) ? JSON.stringify(cell) : textOf(cell));
const nameOf = (table: string): TableName => {
  if (!isTableName(table)) throw new TypeError(`${table} is no table`);
  return table;
};

/** The tables of a mirror in memory. */
export const memoryMirror =
  (warehouse: MemoryWarehouse): ReadMirror =>
  (work) => {
    const { rows, requests } = warehouse;
    return work({
      types: async (table) =>
        new Map(
          tableSpec(nameOf(table)).fields.map(({ column, columnType }) => [
            column,
            columnType === "TIMESTAMPTZ" ? TIME : columnType,
          ]),
        ),
      rows: async (table, key, columns) => {
        const name = nameOf(table);
        return [...rows.of(name).values()].map((row) => ({
          key: key.map((column) => String(rows.cell(name, row, column))).join("|"),
          extra: joinExtra(row.extra),
          cells: columns.map((column) => cellText(rows.cell(name, row, column))),
        }));
      },
      openStreams: async () => warehouse.completeness().flatMap(({ stream, complete }) => (complete ? [] : [stream])),
      ledger: async () => {
        const charged = (kind: string) => [...requests.values()].filter(({ charge }) => charge === kind).length;
        return { spent: charged("spent"), ambiguous: charged("ambiguous") };
      },
    });
  };
