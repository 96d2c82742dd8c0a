// Loads the package's .sql files: migrations in order, and statements by name. A part of a file that repeats for each table is written
// once, and expanded from the catalog:
//
//   -- each table (KIND), joined by UNION ALL
//   SELECT '{table}', count(*) FROM main.{table}
//   -- end

import { createHash } from "node:crypto";
import { z } from "zod";
import { streamOfTable } from "../../catalog/dictionary.ts";
import { isStreamName } from "../../catalog/streams.ts";
import {
  hasScopeMark,
  isCompanyTable,
  isUsageTable,
  TABLE_NAMES,
  type TableName,
  tableSpec,
} from "../../catalog/tables.ts";
import { listProgram, programFile, readProgram } from "../../core/program-files.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import type { ReadSql, SqlValue } from "./statements.ts";

const root = programFile("sql/");
const texts = new Map<string, string>();

/** The tables of each kind, in the order of the statement. */
const KINDS: Readonly<Record<string, readonly TableName[]>> = {
  all: TABLE_NAMES,
  /** Those that a stream is named after, then those that come along with one; without readings of usage. */
  "streams first": [true, false].flatMap((first) =>
    TABLE_NAMES.filter((name) => !isUsageTable(name) && isStreamName(name) === first),
  ),
  /** Those that a stream reads, without those that come along. */
  read: TABLE_NAMES.filter((name) => isStreamName(name) || isUsageTable(name)),
  scoped: TABLE_NAMES.filter(hasScopeMark),
  /** Lists of records with an id. */
  lists: TABLE_NAMES.filter((name) => hasScopeMark(name) && tableSpec(name).key.includes("id")),
  "of companies": TABLE_NAMES.filter(isCompanyTable),
};

/** The filled rows of each field but the keys, as a list of DuckDB. */
const filledFields = (table: TableName): string =>
  tableSpec(table)
    .fields.filter(({ column }) => !tableSpec(table).key.includes(column))
    .map(
      ({ column, required }) =>
        `{'field': ${literal(column)}, 'required': ${required}, 'filled': count(${quoted(column)})}`,
    )
    .join(", ");

const EACH = /^[ \t]*-- each table \((.+)\), joined by (.+)\n([\s\S]*?)\n[ \t]*-- end$/gm;

/** The text with each repeated part written out. Throws TypeError for an unknown kind. */
export const writtenOut = (text: string): string =>
  text.replace(EACH, (_, kind: string, joined: string, part: string) => {
    const tables = KINDS[kind];
    if (tables === undefined) throw new TypeError(`no kind of tables: ${kind}`);
    return tables
      .map((table) =>
        part
          .replaceAll("{table}", table)
          .replaceAll("{stream}", streamOfTable(table))
          .replaceAll("{place}", String(TABLE_NAMES.indexOf(table)))
          .replaceAll("{filled fields}", () => filledFields(table)),
      )
      .join(`\n${joined}\n`);
  });

/**
 * Text of `sql/<name>`, cached. `name` is a path such as `warehouse/start-run.sql`. Throws if the file is missing.
 */
export const sqlText = (name: string): string => {
  const known = texts.get(name);
  if (known !== undefined) return known;
  const text = writtenOut(readProgram(new URL(name, root)).toString("utf8").replaceAll("\r\n", "\n"));
  texts.set(name, text);
  return text;
};

export interface Migration {
  /** 1, 2, 3, ... without gaps. */
  readonly number: number;
  /** File name, e.g. `0001_tables.sql`. */
  readonly name: string;
  readonly sql: string;
  /** sha256 of the text with \n line ends, hex. */
  readonly checksum: string;
}

/** A migration from its file name and text. Throws TypeError when the name is not `NNNN_words` with the ending .sql. */
export const migration = (name: string, sql: string): Migration => {
  const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
  if (!Number.isInteger(number)) throw new TypeError(`not a migration's file name: ${name}`);
  return { number, name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
};

let known: readonly Migration[] | null = null;

/** Every migration of this program, in order, read once. Throws TypeError when the numbers have a gap. */
export const readMigrations = (): readonly Migration[] => {
  if (known !== null) return known;
  const names = listProgram(new URL("migrations/", root))
    .filter((name) => name.endsWith(".sql"))
    .sort();
  const migrations = names.map((name) => migration(name, sqlText(`migrations/${name}`)));
  migrations.forEach(({ number, name }, index) => {
    if (number !== index + 1) throw new TypeError(`migration ${name} should have number ${index + 1}`);
  });
  known = migrations;
  return migrations;
};

// Statements that return one column.

const onlyCell = z.record(z.string(), z.unknown()).transform((row) => Object.values(row)[0]);
const textCell = onlyCell.pipe(z.string());
const numberCell = onlyCell.pipe(z.number().nullable());

/** Texts of a statement's only column. */
export const textsOf = (sql: ReadSql, text: string, params: readonly SqlValue[] = []): Promise<readonly string[]> =>
  sql.query(text, params, textCell);

/** The number that a statement returns; null: it returns none. */
export const numberOf = async (sql: ReadSql, text: string, params: readonly SqlValue[] = []): Promise<number | null> =>
  (await sql.query(text, params, numberCell))[0] ?? null;
