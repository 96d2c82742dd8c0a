// Cells of rows in the form of DuckDB's appender.
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import type { ColumnType } from "../../catalog/fields.ts";
import type { Cell } from "./convert-cell.ts";

/** DuckDB types of appended cells. */
export const DUCK_TYPES: Record<ColumnType, DuckDBType> = {
  VARCHAR,
  BIGINT,
  INTEGER,
  DOUBLE,
  BOOLEAN,
  TIMESTAMPTZ,
  // Appended as text: jsonText has ensured that DuckDB can parse it, so it is not parsed again.
  JSON: VARCHAR,
  "VARCHAR[]": LIST(VARCHAR),
};

/** A cell in the appender's form. */
export const duckCell = (type: ColumnType, cell: Cell): DuckDBValue => {
  if (type === "TIMESTAMPTZ") return typeof cell === "bigint" ? new DuckDBTimestampTZValue(cell) : null;
  return typeof cell === "object" && cell !== null ? listValue([...cell]) : cell;
};
