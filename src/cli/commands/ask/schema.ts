// duckmirror schema: shows the meaning of every table and column. Needs no warehouse.
import { z } from "zod";
import { type DictionaryTable, sqlName } from "../../../catalog/dictionary.ts";
import { type ContentField, contentFields } from "../../../catalog/field-rules.ts";
import { describedTable, describedTables } from "../../../warehouse/file/views.ts";
import { anyArguments, type CommandContext, defineCommand, flag, usage } from "../../command.ts";
import { renderTable, right } from "../../terminal/table.ts";

/** Contract of `schema --json`. */
const toJson = (table: DictionaryTable) => ({
  schema: table.schema,
  table: table.name,
  grain: table.grain,
  key: table.key,
  source: table.source,
  columns: table.columns.map((column) => ({
    name: column.name,
    type: column.type,
    meaning: column.meaning,
    source_field: column.sourceField,
    null_when: column.nullWhen,
    allowed: column.allowed,
    references: column.references,
  })),
});

const renderOne = (table: DictionaryTable, { terminal }: CommandContext): string => {
  const key = table.key.length === 0 ? "" : ` Key: ${table.key.join(", ")}.`;
  const rows = table.columns.map(({ name, type, meaning, sourceField, nullWhen, allowed }) => [
    name,
    type,
    allowed === null ? meaning : `${meaning} Values: ${allowed.join(", ")}.`,
    sourceField,
    nullWhen,
  ]);
  const heads = ["column", "type", "meaning", "field", "NULL when"];
  const head = `${sqlName(table)}: ${table.grain}${key} From: ${table.source}.`;
  return `${head}\n${renderTable(heads, rows, terminal.columns)}`;
};

const renderAll = (tables: readonly DictionaryTable[], { terminal }: CommandContext): string =>
  renderTable(
    ["table", right("columns"), "rows"],
    tables.map((table) => [sqlName(table), table.columns.length, table.grain]),
    terminal.columns,
  );

/** What each field costs, as far as it is the same with every service (`plan --with` knows the rest). */
const costOf = (stream: ContentField["stream"]): string => {
  if (stream === "signals") return "nothing if the list returns it, else one credit per signal";
  if (stream === "companies") return "one credit per company of an account, nothing for followed ones";
  return "nothing: it comes with the list";
};

const showContent = ({ show, terminal }: CommandContext): Promise<number> => {
  const content = contentFields().map(({ stream, field, ...more }) => ({
    name: `${stream}.${field}`,
    ...more,
    cost: costOf(stream),
  }));
  const rows = content.map(({ name, meaning, cost }) => [name, meaning, cost]);
  const hint = "Name them in the setting `content`; `duckmirror plan --with NAME` says what one costs here.";
  return show({ content }, () => `${renderTable(["content", "meaning", "credits"], rows, terminal.columns)}\n${hint}`);
};

export const command = defineCommand({
  configure: (cli) => cli.argument("[table]", "table or view, e.g. accounts or marts.account_360 (default: a list)"),
  examples: {
    "duckmirror schema": "every table and view, and what a row of it is",
    "duckmirror schema contacts": "columns, types, meanings, source fields, when they are NULL",
    "duckmirror schema --content": "heavy fields that a sync fetches only if they are configured",
    "duckmirror schema --json": "all of it for a program",
  },
  input: z.object({
    args: anyArguments,
    content: flag("names of the opt-in fields for the setting `content`"),
  }),
  run: async ({ args, content }, context) => {
    if (content) {
      if (args.length > 0) throw usage("--content takes no table");
      return showContent(context);
    }
    const [typed] = args;
    if (args.length > 1) throw usage("give one table at most");
    const tables = typed === undefined ? await describedTables() : [await describedTable(typed)];
    return context.show({ tables: tables.map(toJson) }, () =>
      typed === undefined ? renderAll(tables, context) : tables.map((table) => renderOne(table, context)).join(""),
    );
  },
});
