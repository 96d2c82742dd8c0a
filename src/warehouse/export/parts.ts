// The files of an export: the rows of each, and a fingerprint that shows whether an existing file holds them already.
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Database } from "../duckdb/database.ts";
import type { Instant } from "../duckdb/duck-values.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { readBegunAt } from "../read/begun-at.ts";
import { cellsSql, type ExportColumn, type ExportFormat, type ExportTable, fingerprintSql } from "./tables.ts";

/** One file of the set. */
export interface Part {
  readonly table: ExportTable;
  readonly columns: readonly ExportColumn[];
  readonly file: string;
  /** `2025-01`, `none`, or null when the table is one file. */
  readonly partition: string | null;
  readonly rows: number;
  readonly fingerprint: string;
}

const columnRow = z.object({ name: z.string(), type: z.string() });
const partRow = z.object({ month: z.string().nullable(), row_count: z.number(), content: z.string() });

/** Folder of a month, named for readers of Hive partitions. */
const monthFolder = (month: string | null): string => `year_month=${month ?? "__HIVE_DEFAULT_PARTITION__"}`;

/** The parts of one table in the snapshot. `since`: only rows that changed after this time. */
export const partsOf = async (
  database: Database,
  table: ExportTable,
  request: { readonly format: ExportFormat; readonly guardFormulas: boolean },
  since: Instant | null,
): Promise<readonly Part[]> => {
  const columns = await database.query(sqlText("warehouse/columns-of.sql"), [table.path], columnRow);
  // An older snapshot may lack this table or view.
  if (columns.length === 0) return [];
  const found = await database.query(fingerprintSql(table, columns), [since], partRow);
  // An empty table with one file keeps it, so that readers find its columns. An empty table cut by month has no file,
  // because neither pandas nor pyarrow opens a folder without a month.
  const isWhole = table.monthOf === null;
  const parts = found.length === 0 && isWhole ? [{ month: null, row_count: 0, content: "0" }] : found;
  const { format } = request;
  const begunAt = await readBegunAt(database);
  const shape = createHash("sha256").update(
    JSON.stringify({ columns, cells: cellsSql(columns, request), orderBy: table.orderBy, begunAt }),
  );
  const shapeText = shape.digest("hex").slice(0, 16);
  return parts.map(({ month, row_count, content }) => {
    const folder = table.monthOf === null ? table.label : `${table.label}/${monthFolder(month)}`;
    return {
      table,
      columns,
      file: `${folder}/${table.label}.${format}`,
      partition: table.monthOf === null ? null : (month ?? "none"),
      rows: row_count,
      fingerprint: `${row_count}-${content}-${shapeText}`,
    };
  });
};
