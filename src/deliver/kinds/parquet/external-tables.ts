// Statements that show a delivered set to a query engine as tables: names, types and comments of the warehouse. Each
// reads the parts that the set names, through the lists of parquet-set.ts, and so never a part of an earlier set. PURE.
import { commentOf, type DictionaryColumn, type DictionaryTable } from "../../../catalog/dictionary.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { listKey } from "./parquet-set.ts";

export const ENGINES = ["athena", "trino", "spark", "bigquery"] as const;
export type Engine = (typeof ENGINES)[number];

export interface ExternalTable {
  readonly table: string;
  readonly statements: readonly string[];
}

/** Glue takes no longer comment of a column. */
const LONGEST_COMMENT = 255;

const backquoted = (name: string): string => `\`${name.replaceAll("`", "``")}\``;
const doubleQuoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const standardText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const escapedText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const comment = (text: string): string =>
  text.length <= LONGEST_COMMENT ? text : `${text.slice(0, LONGEST_COMMENT - 1)}…`;

/** JSON is text in Parquet. */
type DuckType = "BIGINT" | "INTEGER" | "DOUBLE" | "BOOLEAN" | "VARCHAR" | "JSON" | "TIMESTAMPTZ" | "VARCHAR[]";
const TYPES: Readonly<Record<Exclude<Engine, "spark">, Readonly<Record<DuckType, string>>>> = {
  athena: {
    BIGINT: "bigint",
    INTEGER: "int",
    DOUBLE: "double",
    BOOLEAN: "boolean",
    VARCHAR: "string",
    JSON: "string",
    TIMESTAMPTZ: "timestamp",
    "VARCHAR[]": "array<string>",
  },
  trino: {
    BIGINT: "bigint",
    INTEGER: "integer",
    DOUBLE: "double",
    BOOLEAN: "boolean",
    VARCHAR: "varchar",
    JSON: "varchar",
    TIMESTAMPTZ: "timestamp(3)",
    "VARCHAR[]": "array(varchar)",
  },
  bigquery: {
    BIGINT: "INT64",
    INTEGER: "INT64",
    DOUBLE: "FLOAT64",
    BOOLEAN: "BOOL",
    VARCHAR: "STRING",
    JSON: "STRING",
    TIMESTAMPTZ: "TIMESTAMP",
    "VARCHAR[]": "ARRAY<STRING>",
  },
};

const isDuckType = (type: string | null): type is DuckType => type !== null && Object.hasOwn(TYPES.athena, type);

const typeOf = (engine: Exclude<Engine, "spark">, { name, type }: DictionaryColumn): string => {
  if (isDuckType(type)) return TYPES[engine][type];
  throw new DuckmirrorError("UNEXPECTED", { detail: `no type of ${engine} is known for ${name} ${type}` });
};

const lines = (columns: readonly DictionaryColumn[], line: (column: DictionaryColumn) => string): string =>
  columns.map((column) => `  ${line(column)}`).join(",\n");

const athena = ({ name, grain, columns }: DictionaryTable, location: string): readonly string[] => [
  `CREATE EXTERNAL TABLE ${backquoted(name)} (
${lines(columns, (one) => `${backquoted(one.name)} ${typeOf("athena", one)} COMMENT ${escapedText(comment(commentOf(one)))}`)}
)
COMMENT ${escapedText(comment(grain))}
ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'
STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'
OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'
LOCATION ${escapedText(`${location}/${listKey(name).replace(/manifest$/, "")}`)}`,
];

/** Trino cannot make a table of a list, but knows the file of each row. */
const trino = ({ name, grain, columns }: DictionaryTable, location: string): readonly string[] => {
  const [parts, list] = [doubleQuoted(`${name}_parts`), doubleQuoted(`${name}_list`)];
  const listFolder = `${location}/${listKey(name).replace(/\/manifest$/, "")}`;
  const names = lines(columns, (one) => doubleQuoted(one.name));
  return [
    `CREATE TABLE ${parts} (
${lines(columns, (one) => `${doubleQuoted(one.name)} ${typeOf("trino", one)} COMMENT ${standardText(comment(commentOf(one)))}`)}
)
COMMENT ${standardText(`Parts of ${name}, also of earlier sets: read ${name}.`)}
WITH (external_location = ${standardText(`${location}/${name}`)}, format = 'PARQUET')`,
    `CREATE TABLE ${list} (
  "path" varchar
)
COMMENT ${standardText(`Parts that belong to ${name} now.`)}
WITH (external_location = ${standardText(listFolder)}, format = 'TEXTFILE')`,
    `CREATE VIEW ${doubleQuoted(name)}
COMMENT ${standardText(comment(grain))}
AS SELECT
${names}
FROM ${parts}
WHERE regexp_extract("$path", '[^/]+$') IN (SELECT regexp_extract("path", '[^/]+$') FROM ${list})`,
  ];
};

/** Files by their path, because Spark remembers which files a table has. */
const spark = ({ name, grain, columns }: DictionaryTable, location: string): readonly string[] => {
  const place = location.replace(/^s3:/, "s3a:");
  return [
    `CREATE VIEW ${backquoted(name)} (
${lines(columns, (one) => `${backquoted(one.name)} COMMENT ${escapedText(comment(commentOf(one)))}`)}
)
COMMENT ${escapedText(comment(grain))}
AS SELECT
${lines(columns, (one) => backquoted(one.name))}
FROM parquet.${backquoted(`${place}/${name}`)}
WHERE _metadata.file_name IN (SELECT substring_index(value, '/', -1) FROM text.${backquoted(`${place}/${listKey(name)}`)})`,
  ];
};

const bigquery = ({ name, grain, columns }: DictionaryTable, location: string): readonly string[] => [
  `CREATE EXTERNAL TABLE ${backquoted(name)} (
${lines(columns, (one) => `${backquoted(one.name)} ${typeOf("bigquery", one)} OPTIONS (description = ${escapedText(comment(commentOf(one)))})`)}
)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  file_set_spec_type = 'NEW_LINE_DELIMITED_MANIFEST',
  uris = [${escapedText(`${location}/${listKey(name)}`)}],
  description = ${escapedText(comment(grain))}
)`,
];

const MAKERS = { athena, trino, spark, bigquery } as const;
const FORMS = { s3: "s3://", gs: "gs://", abfss: "abfss://container@account.dfs.core.windows.net" } as const;
type Scheme = keyof typeof FORMS;
const SCHEMES: Readonly<Record<Engine, readonly Scheme[]>> = {
  athena: ["s3"],
  trino: ["s3", "gs", "abfss"],
  spark: ["s3", "gs", "abfss"],
  bigquery: ["gs"],
};

/** What to know before the statements are run. */
export const NOTES: Readonly<Record<Engine, string>> = {
  athena: "The lists are read anew with each query; nothing is to be done after a delivery.",
  trino: "For Trino's Hive connector. Read the views; nothing is to be done after a delivery.",
  spark:
    "For Spark 3.3 or newer. The views read the lists anew with each query. A table without a row yet has no part, and no view.",
  bigquery: "The lists are read anew with each query; nothing is to be done after a delivery.",
};

/** `location`: address of the set. Throws USAGE where the engine cannot read it. */
export const externalTables = (
  engine: Engine,
  tables: readonly DictionaryTable[],
  location: string,
): readonly ExternalTable[] => {
  const scheme = /^([a-z0-9]+):\/\/[^/]/.exec(location)?.[1] ?? "";
  if (!SCHEMES[engine].some((one) => one === scheme)) {
    const wanted = SCHEMES[engine].map((one) => FORMS[one]).join(", ");
    throw new DuckmirrorError("USAGE", { detail: `${engine} reads a set at ${wanted}, not at ${location}` });
  }
  const place = location.replace(/\/+$/, "");
  return tables.map((table) => ({ table: table.name, statements: MAKERS[engine](table, place) }));
};
