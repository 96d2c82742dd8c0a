// Writes a row's cells (`Sql.cells`) as the text of a JSON object: the object that `rowJson` (row-json.ts) builds in SQL. DuckDB
// took longer to plan that SQL expression than to read the rows. Pure.
import { DATE_ONLY, type FieldSpec } from "../../catalog/fields.ts";
import type { OutValue } from "../duckdb/out-values.ts";

const MIDNIGHT = "T00:00:00.000Z";

const timeText = (iso: string, dateOnly: boolean): string =>
  `"${dateOnly && iso.endsWith(MIDNIGHT) ? iso.slice(0, -MIDNIGHT.length) : iso}"`;

/** JSON text of a cell other than NULL. */
const cellText = (field: FieldSpec, cell: OutValue): string => {
  switch (field.columnType) {
    case "BIGINT":
    case "INTEGER":
    case "BOOLEAN":
    case "JSON":
      return String(cell);
    case "DOUBLE":
      return Object.is(cell, -0) ? "-0" : String(cell);
    case "VARCHAR":
    case "VARCHAR[]":
      return JSON.stringify(cell);
    case "TIMESTAMPTZ":
      return timeText(String(cell), DATE_ONLY.includes(field.name));
    default: {
      const never: never = field.columnType;
      return never;
    }
  }
};

/** Members of the object `_extra`, as received; empty if there are none. */
const membersOf = (extra: OutValue | undefined): string =>
  typeof extra === "string" ? extra.trim().slice(1, -1).trim() : "";

/** Writes a row: its cells in the order of the fields, and the text of `_extra` or null. */
export type RecordWriter = (cells: readonly OutValue[], extra: OutValue | undefined) => string;

/** The writer of rows of these fields. */
export const recordWriter = (fields: readonly FieldSpec[]): RecordWriter => {
  const names = fields.map(({ name }) => `${JSON.stringify(name)}:`);
  return (cells, extra) => {
    const members: string[] = [];
    for (const [index, field] of fields.entries()) {
      const cell = cells[index];
      if (cell !== null && cell !== undefined) members.push(`${names[index]}${cellText(field, cell)}`);
    }
    const more = membersOf(extra);
    if (more !== "") members.push(more);
    return `{${members.join(",")}}`;
  };
};
