// Makes the data dictionary of the tables from the catalog: columns, types, meanings, origins, conditions for NULL. Views are described by
// their own comments (sql/views) and passed in as `DictionaryTable`. Pure.

import { ENDPOINTS } from "./endpoints.ts";
import type { FieldSpec } from "./fields.ts";
import { LEDGER_TABLES } from "./ledger-tables.ts";
import { isStreamName, routeOf, STREAM_NAMES, type StreamName, streamSpec } from "./streams.ts";
import { hasScopeMark, isTableName, TABLE_NAMES, type TableName, type TableSpec, tableSpec } from "./tables.ts";

export type SchemaName = "main" | "history" | "sync" | "marts";

export interface DictionaryColumn {
  readonly name: string;
  /** Name of the type in DuckDB; null where only the database knows it (schema sync). */
  readonly type: string | null;
  readonly meaning: string;
  /** API field in the column; null for columns added by the mirror. */
  readonly sourceField: string | null;
  /** Condition for NULL; null where the meaning includes it. */
  readonly nullWhen: string | null;
  /** Documented values; other values are stored unchanged. */
  readonly allowed: readonly (string | number)[] | null;
  /** Referenced column, e.g. `accounts.id`. */
  readonly references: string | null;
}

export interface DictionaryTable {
  readonly schema: SchemaName;
  readonly name: string;
  readonly grain: string;
  /** Key columns; empty without a key. */
  readonly key: readonly string[];
  /** Route of the API, or origin of the table. */
  readonly source: string;
  readonly columns: readonly DictionaryColumn[];
}

const added = (name: string, type: string, meaning: string, nullWhen = "never"): DictionaryColumn => ({
  name,
  type,
  meaning,
  sourceField: null,
  nullWhen,
  allowed: null,
  references: null,
});

const MIRROR_COLUMNS: readonly DictionaryColumn[] = [
  added("_first_synced_at", "TIMESTAMPTZ", "When the row first reached this mirror."),
  added("_synced_at", "TIMESTAMPTZ", "When this version was written; a row that stays as it is is not rewritten."),
  added("_run_id", "VARCHAR", "Run that wrote this version: sync.runs.run_id."),
  added(
    "_extra",
    "JSON",
    "Fields the API document does not know and values that did not fit their column, under their API names.",
    "nothing was left over",
  ),
];

const SCOPE_COLUMN = added(
  "_in_scope",
  "BOOLEAN",
  "Whether syncs keep the row up to date: the setting `scope` asks for it, its account or its company, or the company is followed.",
);

const VERSION_COLUMNS: readonly DictionaryColumn[] = [
  added("valid_from", "TIMESTAMPTZ", "When this version was written."),
  added("valid_to", "TIMESTAMPTZ", "When another version took its place or the row was gone."),
  {
    ...added("change", "VARCHAR", "Whether another version took its place or the row was gone."),
    allowed: ["update", "delete"],
  },
  added(
    "change_n",
    "BIGINT",
    "Change that ended this version: sync.changes.n.",
    "the version ended before the change feed began",
  ),
];

const nullWhen = (spec: TableSpec, field: FieldSpec): string => {
  if (spec.key.includes(field.column)) return "never";
  if (field.optIn) return `the setting \`content\` does not name ${field.name}, or the service has none`;
  if (field.detailOnly) return "neither the list nor the detail route returned it, or the service has none";
  return field.required ? "the service leaves it out, which its document rules out" : "the service sends none";
};

/** The reference in a meaning: `Account the contact belongs to: accounts.id.` refers to accounts.id. */
const referenceIn = (meaning: string): string | null => {
  const [, table = "", column = ""] = /: (\w+)\.(\w+)\.?$/.exec(meaning) ?? [];
  return isTableName(table) ? `${table}.${column}` : null;
};

const columnOf = (spec: TableSpec, field: FieldSpec): DictionaryColumn => ({
  name: field.column,
  type: field.columnType,
  meaning: field.meaning,
  sourceField: field.name,
  nullWhen: nullWhen(spec, field),
  allowed: field.allowed ?? null,
  references: referenceIn(field.meaning),
});

const OTHER_SOURCES: Partial<Record<TableName, string>> = {
  owners: "embedded in accounts (`include=owner`)",
  company_inputs: `GET ${ENDPOINTS.resolveCompany.path}`,
  usage_snapshots: "the `usage` block of responses, and GET /v1/usage",
  usage_breakdown: "GET /v1/usage?groupBy=endpoint",
  usage_requests: "GET /v1/usage/requests",
  usage_limits: "GET /v1/usage/limits",
};

const sourceOf = (name: TableName): string => {
  const own = OTHER_SOURCES[name];
  if (own !== undefined) return own;
  return isStreamName(name) ? `GET ${routeOf(streamSpec(name)).path}` : "";
};

const mirrored = (name: TableName): DictionaryTable => {
  const spec = tableSpec(name);
  return {
    schema: "main",
    name,
    grain: spec.grain,
    key: spec.key,
    source: sourceOf(name),
    columns: [
      ...spec.fields.map((field) => columnOf(spec, field)),
      ...MIRROR_COLUMNS,
      ...(hasScopeMark(name) ? [SCOPE_COLUMN] : []),
    ],
  };
};

const versions = (table: DictionaryTable): DictionaryTable => ({
  ...table,
  schema: "history",
  grain: `One row per superseded or deleted version of a row of main.${table.name}.`,
  key: [],
  source: `main.${table.name}`,
  columns: [...table.columns.filter((column) => column !== SCOPE_COLUMN), ...VERSION_COLUMNS],
});

const ledger = (): readonly DictionaryTable[] =>
  LEDGER_TABLES.map(({ name, grain, columns }) => ({
    schema: "sync",
    name,
    grain,
    key: [],
    source: "kept by duckmirror",
    columns: Object.entries(columns).map(([column, meaning]) => ({
      name: column,
      type: null,
      meaning,
      sourceField: null,
      nullWhen: null,
      allowed: null,
      references: null,
    })),
  }));

/** Every table but the views: main, history, sync. */
export const catalogTables = (): readonly DictionaryTable[] => {
  const main = TABLE_NAMES.map(mirrored);
  return [...main, ...main.map(versions), ...ledger()];
};

/** Name of the table in SQL; tables of main need no schema. */
export const sqlName = ({ schema, name }: Pick<DictionaryTable, "schema" | "name">): string =>
  schema === "main" ? name : `${schema}.${name}`;

/** Stream that fills a table, for `duckmirror sync <stream>`. */
export const streamOfTable = (table: TableName): StreamName => {
  if (isStreamName(table)) return table;
  const embedding = STREAM_NAMES.find((name) => streamSpec(name).embeds.some((embed) => embed.table === table));
  if (embedding !== undefined) return embedding;
  return table === "company_inputs" ? "companies" : "usage";
};

/** Text of a column's comment in the warehouse. */
export const commentOf = ({ meaning, allowed }: Pick<DictionaryColumn, "meaning" | "allowed">): string =>
  allowed === null ? meaning : `${meaning} Values: ${allowed.join(", ")}.`;
