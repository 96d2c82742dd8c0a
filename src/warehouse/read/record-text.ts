// Writes a row's cells (`Sql.cells`) as the JSON text of a record, for /v1 and the change feed; `rowJson`, below, builds the same object in
// SQL, which DuckDB plans more slowly than it reads the rows. Pure.
import { DATE_ONLY, type FieldSpec } from "../../catalog/fields.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import type { OutValue } from "../duckdb/out-values.ts";

// One row of a table as a JSON object, written by DuckDB: no value becomes a JavaScript number, so integers beyond
// 2^53 and JSON columns stay exact. PURE: builds SQL from the catalog only.

/** Quoted column of a field, optionally qualified: `a."main_score"`. */
export const columnOf = (field: Pick<FieldSpec, "column">, alias?: string): string =>
  alias === undefined ? quoted(field.column) : `${alias}.${quoted(field.column)}`;

const timeJson = (column: string, dateOnly: boolean): string => {
  const utc = `(${column} AT TIME ZONE 'UTC')`;
  // Microseconds only where needed: most clients expect milliseconds.
  const moment = `CASE WHEN epoch_us(${column}) % 1000 = 0
    THEN strftime(${utc}, '%Y-%m-%dT%H:%M:%S.%gZ') ELSE strftime(${utc}, '%Y-%m-%dT%H:%M:%S.%fZ') END`;
  if (!dateOnly) return `'"' || ${moment} || '"'`;
  return `'"' || CASE WHEN epoch_us(${column}) % 86400000000 = 0
    THEN strftime(${utc}, '%Y-%m-%d') ELSE ${moment} END || '"'`;
};

/** SQL expression: the JSON text of one value, NULL where the column is NULL. */
export const valueJson = (field: FieldSpec, alias?: string): string => {
  const column = columnOf(field, alias);
  switch (field.columnType) {
    case "BIGINT":
    case "INTEGER":
    case "BOOLEAN":
    case "JSON":
      return `CAST(${column} AS VARCHAR)`;
    case "DOUBLE":
      // The service writes 50, not 50.0.
      return `regexp_replace(CAST(to_json(${column}) AS VARCHAR), '\\.0$', '')`;
    case "VARCHAR":
    case "VARCHAR[]":
      return `CAST(to_json(${column}) AS VARCHAR)`;
    case "TIMESTAMPTZ":
      return timeJson(column, DATE_ONLY.includes(field.name));
    default: {
      const never: never = field.columnType;
      return never;
    }
  }
};

/** SQL expression: `"name":value`, NULL where the value is NULL. */
export const memberJson = (name: string, value: string): string => `${literal(`${JSON.stringify(name)}:`)} || ${value}`;

/** SQL expression: an object of members, without those that are NULL (absent optional fields are left out). */
export const objectJson = (members: readonly string[]): string =>
  members.length === 0 ? "'{}'" : `'{' || concat_ws(',', ${members.join(", ")}) || '}'`;

/**
 * SQL expression: a row as a JSON object of the given fields.
 * `extra` adds the unknown fields kept in `_extra` as received.
 */
export const rowJson = (fields: readonly FieldSpec[], options: { alias?: string; extra?: boolean } = {}): string => {
  const members = fields.map((field) => memberJson(field.name, valueJson(field, options.alias)));
  if (options.extra === true) {
    const extra = `trim(CAST(${columnOf({ column: "_extra" }, options.alias)} AS VARCHAR))`;
    members.push(`nullif(trim(substr(${extra}, 2, length(${extra}) - 2)), '')`);
  }
  return objectJson(members);
};

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
