// Writes a SQL statement without its values, for the audit trail. Words of SQL and names of the mirror stay, every
// literal becomes `?`, every other name a number (`n1`, `n2`), comments are left out. Even if SQL is split wrongly, no
// value is written. Pure.

import { createHmac, randomBytes } from "node:crypto";
import { linkSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { catalogTables } from "../../catalog/dictionary.ts";
import { VIEW_NAMES } from "../../catalog/tables.ts";
import { hasSystemCode } from "../../core/errors.ts";
import { makeOwnFolder, readOwnSync, writeNewSync } from "../../core/files/own-files.ts";
import { listProgram, programFile } from "../../core/program-files.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import sqlWords from "./sql-words.json" with { type: "json" };

// Hash of a statement's whole text, with a key of this data directory (`state/audit/key`): equal statements have equal
// hashes, and without the key nobody can test which address a statement named.

const KEY_BYTES = 32;

const readKey = (file: string): Buffer | null => {
  try {
    return readOwnSync(file);
  } catch (error) {
    if (hasSystemCode(error, "ENOENT")) return null;
    throw error;
  }
};

/** The key; created if missing. Of two processes that create it at once, one wins, and both use that one's key. */
const keyOf = (dir: string): Buffer => {
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  const file = join(dir, "key");
  const known = readKey(file);
  if (known !== null) return known;
  const fresh = `${file}.${randomBytes(6).toString("hex")}`;
  writeNewSync(fresh, randomBytes(KEY_BYTES));
  try {
    linkSync(fresh, file);
  } catch (error) {
    if (!hasSystemCode(error, "EEXIST")) throw error;
  } finally {
    unlinkSync(fresh);
  }
  return readOwnSync(file);
};

/** HMAC-SHA-256 of the text, hex. `dir`: folder of the trail. Throws the error of the file system. */
export const sqlHash = (dir: string, sql: string): string => createHmac("sha256", keyOf(dir)).update(sql).digest("hex");

// Words that a redacted statement may hold: those of SQL, and the names of schemas, tables, columns and views that
// duckmirror itself defines. No name of a user's is among them.

const SCHEMAS = ["main", "history", "marts", "sync", "information_schema"];
const views = programFile("sql/views/");

/** Names in the views' own texts, comments and literals aside. */
const namesInViews = (): readonly string[] =>
  listProgram(views)
    .filter((name) => name.endsWith(".sql"))
    .flatMap((name) => {
      const code = sqlText(`views/${name}`).replace(/--.*|'[^']*'/g, " ");
      return code.toLowerCase().match(/[a-z_]\w*/g) ?? [];
    });

/** Words of DuckDB's SQL: keywords, functions and types. A test compares them with the installed DuckDB. */
export const SQL_WORDS: readonly string[] = sqlWords.words.split(" ");

interface KnownWords {
  /** Words of SQL, and the names. */
  readonly words: ReadonlySet<string>;
  /** Names that the mirror defines. In quotes only these stay: DuckDB reads other quoted text as a value. */
  readonly names: ReadonlySet<string>;
}

let known: KnownWords | null = null;

export const knownWords = (): KnownWords => {
  if (known !== null) return known;
  const names = [
    ...SCHEMAS,
    ...VIEW_NAMES,
    ...catalogTables().flatMap(({ name, columns }) => [name, ...columns.map((column) => column.name)]),
  ];
  known = { names: new Set(names), words: new Set([...SQL_WORDS, ...names, ...namesInViews()]) };
  return known;
};

type Kind = "space" | "literal" | "word" | "quoted" | "mark";
interface Token {
  readonly kind: Kind;
  readonly end: number;
}

const WORD_START = String.raw`A-Za-z_\u0080-\u{10ffff}`;
const SPACE = /\s+/uy;
const WORD = new RegExp(`[${WORD_START}][${WORD_START}\\d$]*`, "uy");
/** Also words that start with a digit, such as the parts of a UUID. */
const NUMBER = new RegExp(`(?:\\d|\\.\\d)[${WORD_START}\\d.$]*`, "uy");
const PARAMETER = new RegExp(`\\$[${WORD_START}\\d]+|\\?\\d*`, "uy");
const DOLLAR = new RegExp(`\\$(?:[${WORD_START}][${WORD_START}\\d]*)?\\$`, "uy");
const MARK = /[()[\]{},;:.+\-*/%<>=!~^&|@#]/y;
const PREFIXED = /(?:[eExXbBnN]|[uU]&)(?=')|[uU]&(?=")/y;

const matchAt = (pattern: RegExp, sql: string, at: number): string | null => {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0] ?? null;
};

/** Position after the closing quote; null: there is none. A doubled quote is part of the text. */
const endOfQuoted = (sql: string, open: number, escapes: boolean): number | null => {
  const quote = sql[open];
  for (let at = open + 1; at < sql.length; at++) {
    if (escapes && sql[at] === "\\") at += 1;
    else if (sql[at] === quote && sql[at + 1] === quote) at += 1;
    else if (sql[at] === quote) return at + 1;
  }
  return null;
};

/** Position after a block comment; comments nest. */
const endOfComment = (sql: string, open: number): number | null => {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = open;
  let depth = 0;
  for (let found = edge.exec(sql); found !== null; found = edge.exec(sql)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return null;
};

const token = (kind: Kind, end: number | null): Token | null => (end === null ? null : { kind, end });

const quotedAt = (sql: string, at: number): Token | null | undefined => {
  const prefix = matchAt(PREFIXED, sql, at) ?? "";
  const open = at + prefix.length;
  if (sql[open] === "'") return token("literal", endOfQuoted(sql, open, /^e$/i.test(prefix)));
  if (sql[open] === '"') return token("quoted", endOfQuoted(sql, open, false));
  const dollar = matchAt(DOLLAR, sql, at);
  if (dollar === null) return undefined;
  const close = sql.indexOf(dollar, at + dollar.length);
  return token("literal", close < 0 ? null : close + dollar.length);
};

const commentAt = (sql: string, at: number): Token | null | undefined => {
  if (sql.startsWith("--", at)) {
    const rest = sql.slice(at).search(/[\r\n]/);
    return { kind: "space", end: rest < 0 ? sql.length : at + rest };
  }
  return sql.startsWith("/*", at) ? token("space", endOfComment(sql, at)) : undefined;
};

const PLAIN: readonly (readonly [Kind, RegExp])[] = [
  ["space", SPACE],
  ["literal", NUMBER],
  ["literal", PARAMETER],
  ["word", WORD],
  ["mark", MARK],
];

/** The token at a position; null: the text cannot be read. */
const tokenAt = (sql: string, at: number): Token | null => {
  const comment = commentAt(sql, at);
  const closed = comment === undefined ? quotedAt(sql, at) : comment;
  if (closed !== undefined) return closed;
  for (const [kind, pattern] of PLAIN) {
    const text = matchAt(pattern, sql, at);
    if (text !== null) return { kind, end: at + text.length };
  }
  return null;
};

/**
 * The statement without values. `words`, in lower case, are kept where they are not quoted, `names` where they are. null: an
 * unclosed quote or comment, or a character that SQL does not have.
 */
export const redactSql = (
  sql: string,
  { words, names }: { readonly words: ReadonlySet<string>; readonly names: ReadonlySet<string> },
): string | null => {
  const numbers = new Map<string, number>();
  const maskName = (name: string, kept: ReadonlySet<string>): string => {
    const lower = name.toLowerCase();
    if (kept.has(lower)) return name;
    const number = numbers.get(lower) ?? numbers.size + 1;
    numbers.set(lower, number);
    return `n${number}`;
  };
  let text = "";
  for (let at = 0; at < sql.length; ) {
    const found = tokenAt(sql, at);
    if (found === null) return null;
    const written = sql.slice(at, found.end);
    if (found.kind === "space") text += " ";
    else if (found.kind === "literal") text += "?";
    else if (found.kind === "quoted") text += `"${maskName(written.replace(/^u&/i, "").slice(1, -1), names)}"`;
    else text += found.kind === "word" ? maskName(written, words) : written;
    at = found.end;
  }
  return text.replace(/ {2,}/g, " ").trim();
};
