// The package's .sql files: migrations in order, and statements by name.
import { createHash } from "node:crypto";
import { listProgram, programFile, readProgram } from "../../core/program-files.ts";

const root = programFile("sql/");
const texts = new Map<string, string>();

/**
 * Text of `sql/<name>`, cached. `name` is a path such as `warehouse/start-run.sql`. Throws if the file is missing.
 */
export const sqlText = (name: string): string => {
  const known = texts.get(name);
  if (known !== undefined) return known;
  const text = readProgram(new URL(name, root)).toString("utf8").replaceAll("\r\n", "\n");
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
