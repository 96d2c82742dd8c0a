// Writes docs/DATA.md from the data dictionary: tables, columns and an entity diagram. Pure.
import {
  commentOf,
  type DictionaryColumn,
  type DictionaryTable,
  type SchemaName,
  sqlName,
} from "../../../src/catalog/dictionary.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** A Markdown table; cells are not padded, so that a longer text changes only its own line. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))].map((row) => `| ${row.join(" | ")} |`).join("\n");

const code = (text: string): string => `\`${text}\``;

const columnRow = (column: DictionaryColumn): readonly string[] => [
  code(column.name),
  column.type ?? "",
  commentOf(column),
  column.sourceField === null ? "" : code(column.sourceField),
  column.nullWhen ?? "",
];

const keyLine = ({ key }: DictionaryTable): string => (key.length === 0 ? "" : ` Key: ${key.map(code).join(", ")}.`);

/** Columns common to all mirrored tables; they are shown once. */
const isShared = ({ name }: DictionaryColumn): boolean => name.startsWith("_");

const mirroredSection = (spec: DictionaryTable): string =>
  `### ${spec.name}

${spec.grain}${keyLine(spec)} From ${spec.source}.

${table(["column", "type", "meaning", "API field", "NULL when"], spec.columns.filter((column) => !isShared(column)).map(columnRow))}
`;

const plainSection = (spec: DictionaryTable): string => {
  const typed = spec.columns.some(({ type }) => type !== null);
  const rows = spec.columns.map((column) => [
    code(column.name),
    ...(typed ? [column.type ?? ""] : []),
    commentOf(column),
  ]);
  return `### ${sqlName(spec)}

${spec.grain}

${table(["column", ...(typed ? ["type"] : []), "meaning"], rows)}
`;
};

const mermaidType = (type: string | null): string => (type ?? "VARCHAR").replace("[]", "_LIST");

/** Mermaid entity diagram: keys and the columns that refer to them. */
const diagram = (tables: readonly DictionaryTable[]): string => {
  const lines = tables.flatMap((spec) => {
    const shown = spec.columns.filter(({ name, references }) => spec.key.includes(name) || references !== null);
    const attributes = shown.map(({ name, type, references }) => {
      const marks = [...(spec.key.includes(name) ? ["PK"] : []), ...(references === null ? [] : ["FK"])];
      return `    ${mermaidType(type)} ${name} ${marks.join(", ")}`;
    });
    return [`  ${spec.name} {`, ...attributes, "  }"];
  });
  const relations = tables.flatMap((spec) =>
    spec.columns.flatMap(({ name, references }) => {
      if (references === null) return [];
      const [other = ""] = references.split(".");
      const unique = spec.key.length === 1 && spec.key.includes(name);
      return [`  ${other} |o--${unique ? "o|" : "o{"} ${spec.name} : ${name}`];
    }),
  );
  return ["```mermaid", "erDiagram", ...relations, ...lines, "```"].join("\n");
};

const overview = (tables: readonly DictionaryTable[]): string =>
  table(
    ["table", "rows", "key"],
    tables.map((spec) => [
      `[${spec.name}](#${sqlName(spec).replaceAll(".", "")})`,
      spec.grain,
      spec.key.map(code).join(", "),
    ]),
  );

/** One sentence for each shared column that some tables lack. */
const partlyShared = (tables: readonly DictionaryTable[], shared: readonly DictionaryColumn[]): string =>
  shared
    .flatMap(({ name }) => {
      const lack = tables.filter(({ columns }) => !columns.some((column) => column.name === name));
      return lack.length === 0 ? [] : [`Without ${code(name)}: ${lack.map((spec) => code(spec.name)).join(", ")}.`];
    })
    .join("\n");

/** The whole document. `tables`: those of the catalog and the described views. */
export const renderDataDocument = (tables: readonly DictionaryTable[]): string => {
  const of = (schema: SchemaName) => tables.filter((spec) => spec.schema === schema);
  const main = of("main");
  const shared = main[0]?.columns.filter(isShared) ?? [];
  const isMain = ({ name }: DictionaryColumn) => main[0]?.columns.some((column) => column.name === name) === true;
  const versions = of("history")[0]?.columns.filter((column) => !isMain(column)) ?? [];
  return `# Data

Generated from \`src/catalog\` and \`sql/views\`; a test keeps it equal to them. \`duckmirror schema [table] [--json]\` prints
the same, and every table, view and column carries its meaning as a comment (\`SELECT * FROM duckdb_columns()\`).

- [main](#schema-main): the API's records as of the last sync
- [marts](#schema-marts): views that answer questions
- [history](#schema-history): every superseded or deleted version
- [sync](#schema-sync): runs, requests, credits, what did not fit

Times are TIMESTAMPTZ. In main a date without a time is midnight UTC, so west of Greenwich \`posted_on::date\` is the day
before. Write \`(posted_on AT TIME ZONE 'UTC')::date\`, or set the session to UTC, or read the marts: there such fields are DATE,
and days are UTC in every session.

A field with documented values may hold others: duckmirror stores what it receives. JSON columns hold objects whose inner structure
the API does not document. If you attach the file under a name (\`ATTACH 'warehouse.duckdb' AS w\`) in DuckDB before 1.5, run
\`USE w\` before you query the views.

## Schema main

${overview(main)}

${diagram(main)}

### Columns of every table

${table(["column", "type", "meaning", "API field", "NULL when"], shared.map(columnRow))}

${partlyShared(main, shared)}

${main.map(mirroredSection).join("\n")}
## Schema marts

${overview(of("marts"))}

${of("marts").map(plainSection).join("\n")}
## Schema history

\`history.<table>\` has the columns of \`main.<table>\` but \`_in_scope\`, and these. It has no key: one row per superseded or deleted version.

${table(
  ["column", "type", "meaning"],
  versions.map((column) => columnRow(column).slice(0, 3)),
)}

## Schema sync

${of("sync").map(plainSection).join("\n")}`;
};
