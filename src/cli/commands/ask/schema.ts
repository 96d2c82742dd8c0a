// duckmirror schema: shows the meaning of every table and column. Needs no warehouse.
import { z } from "zod";
import { catalogTables, type DictionaryTable, sqlName } from "../../../catalog/dictionary.ts";
import { type ContentField, contentFields } from "../../../catalog/field-rules.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { didYouMean } from "../../../core/text/did-you-mean.ts";
import { describeViews } from "../../../warehouse/file/views.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  content: z.boolean().default(false),
});

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

const find = (tables: readonly DictionaryTable[], typed: string): DictionaryTable => {
  const name = typed.replace(/^main\./, "");
  // A view may be named without its schema, because no table of main has the same name.
  const found = tables.find((table) => sqlName(table) === name) ?? tables.find((table) => table.name === name);
  if (found !== undefined) return found;
  const known = tables.map(sqlName);
  throw new DuckmirrorError("USAGE", { detail: `there is no table ${typed}.${didYouMean(name, known)}` });
};

const renderOne = (table: DictionaryTable, { terminal }: CommandContext): string => {
  const key = table.key.length === 0 ? "" : ` Key: ${table.key.join(", ")}.`;
  const rows = table.columns.map(({ name, type, meaning, sourceField, nullWhen, allowed }) => [
    name,
    type ?? "",
    allowed === null ? meaning : `${meaning} Values: ${allowed.join(", ")}.`,
    sourceField ?? "",
    nullWhen ?? "",
  ]);
  const heads = ["column", "type", "meaning", "field", "NULL when"].map((name) => ({ name }));
  const head = `${sqlName(table)}: ${table.grain}${key} From: ${table.source}.`;
  return `${head}\n${renderTable(heads, rows, terminal.columns)}\n`;
};

const renderAll = (tables: readonly DictionaryTable[], { terminal }: CommandContext): string =>
  `${renderTable(
    [{ name: "table" }, { name: "columns", align: "right" }, { name: "rows" }],
    tables.map((table) => [sqlName(table), String(table.columns.length), table.grain]),
    terminal.columns,
  )}\n`;

/** What each field costs, as far as it is the same with every service (`plan --with` knows the rest). */
const costOf = ({ stream }: ContentField): string => {
  if (stream === "signals") return "nothing if the list returns it, else one credit per signal";
  if (stream === "companies") return "one credit per company of an account, nothing for followed ones";
  return "nothing: it comes with the list";
};

const showContent = async (context: CommandContext): Promise<void> => {
  const content = contentFields().map((field) => ({ ...field, cost: costOf(field) }));
  if (context.shared.json) {
    const named = content.map(({ stream, field, ...more }) => ({ name: `${stream}.${field}`, ...more }));
    return context.printJson({ content: named });
  }
  const heads = ["content", "meaning", "credits"].map((name) => ({ name }));
  const rows = content.map(({ stream, field, meaning, cost }) => [`${stream}.${field}`, meaning, cost]);
  const hint = "Name them in the setting `content`; `duckmirror plan --with NAME` says what one costs here.";
  await context.terminal.out(`${renderTable(heads, rows, context.terminal.columns)}\n${hint}\n`);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[table]", "table or view, e.g. accounts or marts.account_360 (default: a list)")
      .option("--content", "names of the opt-in fields for the setting `content`"),
  examples: {
    "duckmirror schema": "every table and view, and what a row of it is",
    "duckmirror schema contacts": "columns, types, meanings, source fields, when they are NULL",
    "duckmirror schema --content": "heavy fields that a sync fetches only if they are configured",
    "duckmirror schema --json": "all of it for a program",
  },
  input: inputSchema,
  run: async ({ args, content }, context) => {
    if (content) {
      if (args.length > 0) throw new DuckmirrorError("USAGE", { detail: "--content takes no table" });
      await showContent(context);
      return EXIT.done;
    }
    const tables = [...catalogTables(), ...(await describeViews())];
    const [typed] = args;
    if (args.length > 1) throw new DuckmirrorError("USAGE", { detail: "give one table at most" });
    const chosen = typed === undefined ? null : find(tables, typed);
    if (context.shared.json) await context.printJson({ tables: (chosen === null ? tables : [chosen]).map(toJson) });
    else await context.terminal.out(chosen === null ? renderAll(tables, context) : renderOne(chosen, context));
    return EXIT.done;
  },
});
