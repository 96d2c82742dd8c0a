// The past as SQL: a table macro `as_of.<table>(moment)` for every mirrored table, generated from the catalog. Pure.
// The contract names the schema `asof`, which is a keyword of DuckDB and needs quotes in each query; so it exists under both
// names. A version is valid from its `_synced_at` until the change that ended it, so at each moment a key has at most one row.
// Plain SQL that any DuckDB from 1.2 on reads.
import { TABLE_NAMES, type TableName, tableSpec } from "../../../catalog/tables.ts";
import { quoted } from "../../../core/text/sql-text.ts";

const SCHEMAS = ["as_of", '"asof"'] as const;
/** Columns that every table of `main` and `history` has beside those of its records. */
const OWN_COLUMNS = ["_first_synced_at", "_synced_at", "_run_id", "_extra"];

/**
 * Statement that creates `as_of.<table>(moment)`: the rows that `main.<table>` held at `moment` (TIMESTAMPTZ, or text that
 * casts to it), with its columns but `_in_scope`, whose past is not kept.
 */
const asOfMacro = (schema: (typeof SCHEMAS)[number], table: TableName): string => {
  const columns = [...tableSpec(table).fields.map(({ column }) => column), ...OWN_COLUMNS].map(quoted).join(", ");
  const at = "CAST(moment AS TIMESTAMPTZ)";
  return `CREATE OR REPLACE MACRO ${schema}.${quoted(table)}(moment) AS TABLE
SELECT ${columns} FROM main.${quoted(table)} WHERE _synced_at <= ${at}
UNION ALL
SELECT ${columns} FROM history.${quoted(table)} WHERE valid_from <= ${at} AND valid_to > ${at};`;
};

/** Statements that create both schemas and their macros. */
export const asOfStatements = (): readonly string[] =>
  SCHEMAS.flatMap((schema) => [
    `CREATE SCHEMA IF NOT EXISTS ${schema};`,
    ...TABLE_NAMES.map((table) => asOfMacro(schema, table)),
  ]);
