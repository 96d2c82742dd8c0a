// Generates a folder of first checks for a user from the catalog: keys, references, documented values, age, deleted rows. Pure.
import { catalogTables, type DictionaryColumn, type DictionaryTable } from "../../../catalog/dictionary.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";

export interface StarterCheck {
  readonly name: string;
  readonly text: string;
}

const keyOf = ({ key }: DictionaryTable): string => `concat_ws(' ', ${key.map(quoted).join(", ")})`;

const tables = (): readonly DictionaryTable[] =>
  catalogTables().filter(({ schema, key }) => schema === "main" && key.length > 0);

/** One SELECT per column, of rows of its table. */
const perColumn = (rowsOf: (table: DictionaryTable, column: DictionaryColumn) => string | null): string =>
  tables()
    .flatMap((table) => table.columns.flatMap((column) => rowsOf(table, column) ?? []))
    .join("\nUNION ALL\n");

const perTable = (rowsOf: (table: DictionaryTable) => string): string => tables().map(rowsOf).join("\nUNION ALL\n");

const rowsWhere = (table: DictionaryTable, column: string, condition: string): string =>
  `SELECT ${literal(table.name)} AS "table", ${literal(column)} AS "column", ${keyOf(table)} AS key, CAST(${quoted(column)} AS VARCHAR) AS value\n` +
  `FROM main.${quoted(table.name)} WHERE ${condition}`;

const strange = (table: DictionaryTable, { name, allowed }: DictionaryColumn): string | null =>
  allowed === null
    ? null
    : rowsWhere(
        table,
        name,
        `${quoted(name)} NOT IN (${allowed.map((value) => (typeof value === "number" ? String(value) : literal(value))).join(", ")})`,
      );

const dangling = (table: DictionaryTable, { name, references }: DictionaryColumn): string | null => {
  const [parent, field] = references?.split(".") ?? [];
  if (parent === undefined || field === undefined) return null;
  return rowsWhere(table, name, `${quoted(name)} NOT IN (SELECT ${quoted(field)} FROM main.${quoted(parent)})`);
};

const repeated = (table: DictionaryTable): string =>
  `SELECT ${literal(table.name)} AS "table", ${keyOf(table)} AS key, count(*) AS "rows"\n` +
  `FROM main.${quoted(table.name)} GROUP BY ALL HAVING count(*) > 1 OR key = ''`;

const gone = ({ name }: DictionaryTable): string =>
  `SELECT ${literal(name)} AS "table",\n` +
  `  (SELECT count(*) FROM history.${quoted(name)} WHERE change = 'delete' AND valid_to > now() - INTERVAL 1 DAY) AS gone,\n` +
  `  (SELECT count(*) FROM main.${quoted(name)}) AS "left"`;

const LATE = `SELECT table_name AS "table", oldest_checked_at, due_at
FROM marts.freshness
WHERE due_at < now() - INTERVAL 1 DAY`;

const file = (name: string, severity: "error" | "warn", about: string, sql: string): StarterCheck => ({
  name: `${name}.sql`,
  text: `-- severity: ${severity}\n-- ${about}\n${sql};\n`,
});

export const starterChecks = (): readonly StarterCheck[] => [
  file("keys", "error", "Rows with the same key, or without one.", perTable(repeated)),
  file("references", "warn", "Rows that refer to a row which the mirror lacks.", perColumn(dangling)),
  file("values", "warn", "Values that the API document does not name.", perColumn(strange)),
  file("freshness", "warn", "Tables that are a day older than their max_age.", LATE),
  file(
    "row-counts",
    "error",
    "Tables that lost more than 100 rows and 30% of their rows within a day.",
    `SELECT * FROM (\n${perTable(gone)}\n) WHERE gone > 100 AND gone > 0.3 * (gone + "left")`,
  ),
];
