// Writes docs/integrations/dbt/models/sources.yml from the data dictionary: tables, columns, tests, freshness. Pure.
import type { DictionaryColumn, DictionaryTable } from "../../../src/catalog/dictionary.ts";
import { isTableName, type TableName } from "../../../src/catalog/tables.ts";

/** A YAML scalar; JSON text is valid YAML. */
const scalar = (value: string | number): string => JSON.stringify(value);

const list = (values: readonly (string | number)[]): string => `[${values.map(scalar).join(", ")}]`;

/**
 * Values and references that the API document does not promise are only warned about: the mirror stores every value.
 */
const testsOf = (table: DictionaryTable, column: DictionaryColumn): readonly string[] => {
  const key = table.key.includes(column.name) ? ["not_null", ...(table.key.length === 1 ? ["unique"] : [])] : [];
  const values =
    column.allowed === null
      ? []
      : [
          `accepted_values: {arguments: {values: ${list(column.allowed)}, quote: ${typeof column.allowed[0] === "string"}}, config: {severity: warn}}`,
        ];
  const [parent, field] = column.references?.split(".") ?? [];
  const relation =
    parent === undefined || field === undefined
      ? []
      : [`relationships: {arguments: {to: "source('main', '${parent}')", field: ${field}}, config: {severity: warn}}`];
  return [...key, ...values, ...relation];
};

const columnLines = (table: DictionaryTable, column: DictionaryColumn): readonly string[] => {
  const tests = testsOf(table, column);
  return [
    `          - name: ${scalar(column.name)}`,
    // Reserved words (limit, from, rows) need quotes in the tests' SQL.
    "            quote: true",
    ...(column.type === null ? [] : [`            data_type: ${scalar(column.type)}`]),
    `            description: ${scalar(column.meaning)}`,
    ...(tests.length === 0 ? [] : ["            data_tests:", ...tests.map((test) => `              - ${test}`)]),
  ];
};

/**
 * Freshness counts from the time when the oldest part exceeded the stream's max_age, so it follows the configuration.
 * Unchanged data is not stale, a fresh company does not hide a stale one, and unconfigured or unfollowed parts do not
 * count.
 */
const freshnessLines = (name: TableName): readonly string[] => {
  // A mirror may have no followed inputs.
  if (name === "company_inputs") return [];
  const due =
    "case when max_age_hours is null or scopes = 0 then now() else coalesce(least(due_at, now()), 'epoch') end";
  const query = `select ${due} from {{ source('marts', 'freshness') }} where table_name = '${name}'`;
  return [
    `        loaded_at_query: ${scalar(query)}`,
    "        freshness:",
    "          warn_after: {count: 1, period: day}",
    "          error_after: {count: 7, period: day}",
  ];
};

const tableLines = (table: DictionaryTable): readonly string[] => [
  `      - name: ${table.name}`,
  `        description: ${scalar(table.grain)}`,
  ...(table.schema === "main" && isTableName(table.name) ? freshnessLines(table.name) : []),
  "        columns:",
  ...table.columns.flatMap((column) => columnLines(table, column)),
];

const DESCRIPTIONS = {
  main: "The API's records as of the last sync.",
  marts: "Views that answer questions.",
  history: "Every superseded or deleted version.",
  sync: "Runs, requests, credits, what did not fit.",
} as const;

/** The whole file. `tables`: those of the catalog and the described views. */
export const renderDbtSources = (tables: readonly DictionaryTable[]): string => {
  const schemas = ["main", "marts", "history", "sync"] as const;
  const sources = schemas.flatMap((schema) => [
    `  - name: ${schema}`,
    "    database: mirror",
    `    schema: ${schema}`,
    `    description: ${scalar(DESCRIPTIONS[schema])}`,
    "    tables:",
    ...tables.filter((table) => table.schema === schema).flatMap(tableLines),
  ]);
  return `${["# Generated from src/catalog and sql/views; a test keeps it equal to them.", "version: 2", "sources:", ...sources].join("\n")}\n`;
};
