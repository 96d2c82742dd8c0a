// Reads the companies that a user names, from arguments or from a list: a file or stdin, one input a line or a named column of a CSV.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { readGiven } from "../../core/files/given-files.ts";
import { writeNewSync } from "../../core/files/own-files.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { openDatabase } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { type CliDeps, option, usage } from "../command.ts";
import type { Terminal } from "../terminal/terminal.ts";

const row = z.record(z.string(), z.string().nullable());

/** Columns by the file's first line, and the rows' values in that order. Throws USAGE when it is no CSV. */
const readCsv = async (
  path: string,
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    const rows = await database.query(sqlText("warehouse/read-csv.sql"), [path], row);
    const columns = Object.keys(rows[0] ?? {});
    return { columns, rows: rows.map((found) => columns.map((column) => found[column] ?? null)) };
  } catch (cause) {
    const [detail = ""] = detailOf(cause).split("\n");
    throw new DuckmirrorError("USAGE", { detail: `${path} cannot be read as CSV: ${detail}` }, { cause });
  } finally {
    await database.close();
  }
};

export const inputOptions = {
  file: option("<file>", "file with one input per line; - reads stdin"),
  column: option("<name>", "the file is a CSV; read the inputs from this column"),
};

/** Words that head a column rather than name a company. */
const HEAD =
  /^(company[ _-]?)?(ids?|domains?|names?|websites?|urls?|links?|tickers?|symbols?|inputs?)$|^(company|companies)$/i;

/** One input a line; empty lines and comments are skipped. */
const linesOf = (text: string): readonly string[] => {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const first = lines[0] ?? "";
  if (/[,;\t]/.test(first))
    throw usage(`the list has several columns ("${first.slice(0, 80)}"); name one with --column`);
  if (lines.length > 1 && HEAD.test(first)) {
    const choice = `name it with --column "${first}"; if it is a company, give it on the command line`;
    throw usage(`the first line of the list, "${first}", looks like the head of a column: ${choice}`);
  }
  return lines;
};

const columnOf = async (path: string, column: string): Promise<readonly string[]> => {
  const { columns, rows } = await readCsv(path);
  const at = columns.indexOf(column);
  if (at < 0) throw usage(`the list has no column ${column} (${columns.join(", ")}).${didYouMean(column, columns)}`);
  return rows.flatMap((row) => {
    const value = (row[at] ?? "").trim();
    return value === "" ? [] : [value];
  });
};

/** `work` with the path of a file that holds the text; all of its lines end alike, because DuckDB reads no other CSV. */
const withTextFile = async <T>(text: string, work: (path: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "duckmirror-list-"));
  try {
    const path = join(folder, "list.csv");
    writeNewSync(path, text.replace(/\r\n?/g, "\n"));
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** All inputs, in order, repeated ones once. Throws USAGE when there is none, or the list cannot be read. */
export const readInputs = async (
  {
    args,
    file,
    column,
  }: { readonly args: readonly string[]; readonly file?: string | undefined; readonly column?: string | undefined },
  { cwd, terminal }: Pick<CliDeps, "cwd"> & { readonly terminal: Pick<Terminal, "readInput"> },
): Promise<readonly string[]> => {
  if (file === undefined && column !== undefined) throw usage("--column names a column of --file");
  const readText = (path: string): string => {
    try {
      return readGiven(path);
    } catch (cause) {
      throw usage(`--file ${file} cannot be read: ${detailOf(cause)}`);
    }
  };
  let listed: readonly string[] = [];
  if (file !== undefined) {
    const text = file === "-" ? await terminal.readInput() : readText(resolve(cwd, file));
    if (column === undefined) listed = linesOf(text);
    else listed = await withTextFile(text, (path) => columnOf(path, column));
  }
  const inputs = [...new Set([...args, ...listed])];
  if (inputs.length === 0) throw usage(file === undefined ? "no company was given" : `--file ${file} names no company`);
  return inputs;
};
