// duckmirror query: runs read-only SQL on the published snapshot, or on a lake it was delivered to; prints a table,
// CSV, JSON or NDJSON.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { destinationsNamed } from "../../../../jobs/deliver.ts";
import type { Config } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { DuckmirrorError, detailOf, EXIT } from "../../../core/errors.ts";
import { readGiven } from "../../../core/files/given-files.ts";
import { visible } from "../../../core/text/shown-text.ts";
import { counted, parseBytes } from "../../../core/text/units.ts";
import { queryDestination } from "../../../deliver/open-destination.ts";
import { savedQueries, savedSql } from "../../../warehouse/read/saved-queries.ts";
import {
  firstRows,
  isNumeric,
  type QueryCursor,
  type QueryFormat,
  tableCell,
  textOf,
} from "../../../warehouse/user-sql/query-output.ts";
import { assertReadable } from "../../../warehouse/user-sql/trusted-files.ts";
import { createQueryProcesses, type SqlSource } from "../../../warehouse/user-sql/user-query.ts";
import { audited } from "../../audited.ts";
import {
  anyArguments,
  type CommandContext,
  defineCommand,
  durationOf,
  flag,
  option,
  optionOf,
  usage,
} from "../../command.ts";
import { sayCopy } from "../../context.ts";
import { renderTable, right } from "../../terminal/table.ts";

/** Most rows of a table on a terminal; other outputs get all rows. */
const MOST_ROWS_SHOWN = 1000;

const MIB = 1024 ** 2;
const DEFAULT_TIMEOUT = "10m";
const DEFAULT_MEMORY = "2GiB";

const inputSchema = z.object({
  args: anyArguments,
  file: optionOf(z.string().optional(), { flags: "-f, --file <path>", summary: "read the query from a file" }),
  saved: option("<name>", "run a saved query of duckmirror"),
  list: flag("list the saved queries; with --json also their SQL"),
  from: option("<name>", "query the lake of this destination instead of the mirror"),
  format: optionOf(z.enum(["table", "csv", "json", "ndjson"]).optional(), {
    value: "<format>",
    summary: "table, csv, json or ndjson (default: table; json with --json)",
  }),
  timeout: option("<d>", `end the query after this time (default: ${DEFAULT_TIMEOUT})`),
  memory: option("<size>", `memory the query may use (default: ${DEFAULT_MEMORY})`),
});
type Input = z.output<typeof inputSchema>;

const fileText = (file: string, cwd: string): string => {
  try {
    return readGiven(resolve(cwd, file));
  } catch (cause) {
    throw usage(`${file} cannot be read: ${detailOf(cause)}`, cause);
  }
};

const sqlOf = async ({ args, file, saved }: Input, context: CommandContext): Promise<string> => {
  if ([args.length > 0, file !== undefined, saved !== undefined].filter(Boolean).length > 1)
    throw usage("give one of SQL, --file and --saved");
  if (saved !== undefined) return savedSql(saved);
  if (file !== undefined && file !== "-") return fileText(file, context.cwd);
  const sql = file === "-" || args.join(" ") === "-" ? await context.terminal.readInput() : args.join(" ");
  if (sql.trim() === "") throw usage("no SQL was given");
  return sql;
};

/** Prints the saved queries. */
const list = ({ terminal, show }: CommandContext): Promise<number> => {
  const queries = savedQueries();
  const rows = queries.map(({ name, question }) => [name, question]);
  return show(queries, () => renderTable(["name", "question"], rows, terminal.columns));
};

/** Limits of the statement. Throws USAGE. */
const limitsOf = ({ timeout = DEFAULT_TIMEOUT, memory = DEFAULT_MEMORY }: Input) => {
  const timeMs = durationOf("--timeout", timeout, "90s, 15m or 2h") ?? 0;
  const bytes = parseBytes(memory);
  if (bytes === null || bytes < 64 * MIB)
    throw usage(`--memory: "${memory}" is not a size from 64MiB on, like 512MiB or 4GiB`);
  return { timeMs, memoryMiB: Math.floor(bytes / MIB) };
};

/** Number of rows and bytes written. */
interface Written {
  readonly rows: number;
  readonly bytes: number;
}

const writeTable = async (cursor: QueryCursor, context: CommandContext): Promise<Written> => {
  const { terminal, shared } = context;
  const { columns, rows, more } = await firstRows(
    cursor,
    terminal.isTty.out ? MOST_ROWS_SHOWN : Number.POSITIVE_INFINITY,
  );
  context.signal.throwIfAborted();
  const { dim } = terminal.outColours;
  const heads = columns.map(({ name, type }) => (isNumeric(type) ? right(name) : name));
  const text = renderTable(
    heads,
    rows.map((row) => row.map(tableCell)),
    terminal.columns,
    (cell, column, row) => (rows[row]?.[column] === null ? dim(cell) : cell),
  );
  await terminal.out(`${text}\n`);
  const written = { rows: rows.length, bytes: Buffer.byteLength(text) };
  if (!terminal.isTty.err || shared.quiet) return written;
  const count = counted(rows.length, "row");
  terminal.err(more ? `the first ${count}; --format csv or ndjson writes all of them\n` : `${count}\n`);
  return written;
};

const writeRows = async (
  format: Exclude<QueryFormat, "table">,
  cursor: QueryCursor,
  { terminal: { out, isTty }, signal }: CommandContext,
): Promise<Written> => {
  let rows = 0;
  let bytes = 0;
  const count = (more: number) => {
    rows += more;
  };
  for await (const text of textOf(format, cursor, count)) {
    // An interrupted query ends its rows early; without this check, half a result would look complete.
    signal.throwIfAborted();
    bytes += Buffer.byteLength(text);
    // A file or program gets every character unchanged.
    await out(isTty.out ? visible(text) : text);
  }
  return { rows, bytes };
};

interface Question {
  readonly sql: string;
  readonly limits: ReturnType<typeof limitsOf>;
  readonly signal: AbortSignal;
}

/** The owner of the mirror has its rights anyway, so their SQL may be any; what others run here is theirs only. */
const sourceOf = (config: Config, snapshot: string): SqlSource =>
  process.getuid === undefined || statSync(snapshot).uid === process.getuid() ? "owner" : config.userSql;

/** Asks the published snapshot. */
const askMirror = <T>(config: Config, { sql, limits, signal }: Question, use: (cursor: QueryCursor) => Promise<T>) => {
  const snapshot = snapshotPath(config.dataDir);
  // In a folder without a mirror nothing is created.
  assertReadable(snapshot);
  return createQueryProcesses(limits, sourceOf(config, snapshot)).stream({ snapshot, sql, signal }, use);
};

/** Asks the destination of this name. */
const askDestination = <T>(
  config: Config,
  name: string,
  { sql, limits, signal }: Question,
  use: (cursor: QueryCursor) => Promise<T>,
): Promise<T> => {
  const [settings] = destinationsNamed(config, [name]);
  if (settings === undefined) throw new DuckmirrorError("DESTINATIONS_MISSING");
  return queryDestination(settings, { sql, ...limits, signal }, use);
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { shared, signal } = context;
  if (input.list) return list(context);
  const { from } = input;
  const format = input.format ?? (shared.json ? "json" : "table");
  const config = await context.loadConfig();
  const limits = limitsOf(input);
  const sql = await sqlOf(input, context);
  if (from === undefined) await sayCopy(config, context);
  const write = (cursor: QueryCursor) =>
    format === "table" ? writeTable(cursor, context) : writeRows(format, cursor, context);
  const runIt = async () => {
    const question = { sql, limits, signal };
    try {
      return await (from === undefined
        ? askMirror(config, question, write)
        : askDestination(config, from, question, write));
    } catch (error) {
      if (signal.aborted) throw new DuckmirrorError("INTERRUPTED", {}, { cause: error });
      throw error;
    }
  };
  await audited(config, context, { action: "query", sql }, runIt, (written) => written);
  return EXIT.done;
};

export const command = defineCommand({
  configure: (cli) => cli.argument("[sql...]", "the query; - reads it from stdin"),
  examples: {
    'duckmirror query "show tables"': "what is there",
    'duckmirror query "select name, main_score from accounts order by main_score desc limit 10"':
      "the hottest accounts",
    'duckmirror query "from contacts" --format csv >contacts.csv': "a table as CSV",
    "duckmirror query --list": "twenty questions to begin with",
    "duckmirror query --saved who-is-hiring": "one of them",
    "duckmirror query --from lake \"from ducklake_snapshots('lake')\"": "a destination of kind ducklake",
    "duckmirror query --file report.sql --format ndjson --timeout 1h --memory 8GiB": "a long query from a file",
  },
  input: inputSchema,
  run,
});
