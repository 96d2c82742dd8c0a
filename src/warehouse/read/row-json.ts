// One row of a table as a JSON object, written by DuckDB: no value becomes a JavaScript number, so integers beyond
// 2^53 and JSON columns stay exact. PURE: builds SQL from the catalog only.
import { DATE_ONLY, type FieldSpec } from "../../catalog/fields.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";

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
