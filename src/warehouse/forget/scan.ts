// Proves an erasure: searches every byte of every file for texts that identify the erased people. Databases and Parquet files are
// compressed, so that their cells are searched, too. No file may be open for writing meanwhile.

import type { Dirent } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { hasSystemCode } from "../../core/errors.ts";
import { entriesOfOwn, makeFolders, streamOwn } from "../../core/files/own-files.ts";
import { isTelling } from "../../core/forgotten.ts";
import { ESCAPED_SIGN, formsInBytes, formsOf, longestForm, samePartOf } from "../../core/text/escaped-forms.ts";
import { literal } from "../../core/text/sql-text.ts";
import { decodedChunks } from "../archive/read-archive.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import { copyContents, type RewriteMeans } from "../file/publish/rewrite-file.ts";
import type { Person, Trace } from "./people.ts";

// Searches a stream of bytes for texts, in every form in which they can be written.

/** Shorter texts occur in any file by chance, so they are searched in cells only, as whole words. */
const SHORTEST_BYTES = 6;
/** Bytes before and after a match that distinguish it from another. */
const AROUND = 8;

/** Every form of a text in a file: plain, in JSON, in a URL. For bytes that were read as Latin-1. */
interface Form {
  /** Bytes without this part hold no match. */
  readonly samePart: string;
  readonly pattern: RegExp;
  /** Bytes of the longest match. */
  readonly longest: number;
}

export const formOf = (text: string): Form => ({
  samePart: samePartOf(text),
  pattern: new RegExp(formsInBytes(text), "g"),
  longest: longestForm(text),
});

const LETTERS_END = /[0-9A-Za-z\x80-\xff]$/;
const LETTERS_START = /^[0-9A-Za-z\x80-\xff]/;
const SIGN_END = new RegExp(`${ESCAPED_SIGN}$`);

/** Whether no letter or digit is next to these bytes. */
const isApart = (text: string, start: number, end: number): boolean => {
  const before = text.slice(Math.max(0, start - AROUND), start);
  return (!LETTERS_END.test(before) || SIGN_END.test(before)) && !LETTERS_START.test(text.slice(end, end + 1));
};

/**
 * Every match of the forms, with the bytes around it, as hexadecimal digits. `words`: only where no letter or digit is
 * next to it.
 */
export const matchesIn = async (
  chunks: AsyncIterable<Buffer>,
  forms: readonly Form[],
  { words }: { readonly words: boolean },
): Promise<readonly string[]> => {
  const longest = Math.max(0, ...forms.map((form) => form.longest));
  const matches: string[] = [];
  /** Matches from `from` on; those that start behind `limit` are left to the next chunk. */
  const search = (text: Buffer, from: number, limit: number) => {
    const latin = text.toString("latin1");
    for (const { samePart, pattern } of forms) {
      if (!text.includes(samePart)) continue;
      pattern.lastIndex = from;
      for (let match = pattern.exec(latin); match !== null && match.index < limit; match = pattern.exec(latin)) {
        const end = match.index + match[0].length;
        pattern.lastIndex = match.index + 1;
        if (end - match.index < SHORTEST_BYTES || (words && !isApart(latin, match.index, end))) continue;
        matches.push(text.subarray(Math.max(0, match.index - AROUND), end + AROUND).toString("hex"));
      }
    }
  };
  let kept = Buffer.alloc(0);
  let from = 0;
  for await (const chunk of chunks) {
    const text = Buffer.concat([kept, chunk]);
    const limit = Math.max(from, text.length - longest - AROUND);
    search(text, from, limit);
    const start = Math.max(0, limit - AROUND);
    kept = text.subarray(start);
    from = limit - start;
  }
  search(kept, from, kept.length);
  return matches;
};

/** File and kind of a found text, never the text itself. */
export interface Hit {
  readonly file: string;
  /** Table of a database; null if found in the file's bytes. */
  readonly table: string | null;
  readonly kind: Trace["kind"];
  readonly times: number;
}

export interface Scan {
  readonly files: number;
  readonly bytes: number;
  readonly tables: number;
  readonly rows: number;
  readonly texts: number;
  /** Remains that must not exist. */
  readonly left: readonly Hit[];
  /** The same address, number or name in records of people who were not erased. */
  readonly mentions: readonly Hit[];
}

/** Skipped: opening and closing a lock file would let a second writer in. They are empty databases. */
const LOCKS: ReadonlySet<string> = new Set(["writer.lock", ".lock"]);
/** Made by the file system at the root of a disk; often only the administrator can read it. */
const OF_THE_DISK = "lost+found";

/** Entries of a folder. Throws the system's error: a folder that was not searched proves nothing. */
const entriesOf = (dir: string): readonly Dirent[] => {
  try {
    return entriesOfOwn(dir);
  } catch (error) {
    const isExpected =
      hasSystemCode(error, "ENOENT") || (basename(dir) === OF_THE_DISK && hasSystemCode(error, "EACCES"));
    if (isExpected) return [];
    throw error;
  }
};

const filesBelow = async (dir: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const entry of entriesOf(dir)) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) found.push(...(await filesBelow(path)));
    else if (entry.isFile() && !LOCKS.has(entry.name)) found.push(path);
  }
  return found;
};
const filesIn = async (dir: string): Promise<readonly string[]> => [...(await filesBelow(dir))].sort();

const columnsRow = z.object({ path: z.string(), columns: z.array(z.string()) });
/** Short ids apart from others: such a text is the id of something else, too. */
const GROUPS = ["id", "short id", "email", "phone", "address", "name"] as const;
type Group = (typeof GROUPS)[number];
const groupOf = ({ kind, text }: Trace): Group => (kind === "id" && !isTelling(text) ? "short id" : kind);
const kindOf = (group: Group): Trace["kind"] => (group === "short id" ? "id" : group);
/** Tables of contacts: a cell that is an id there is a contact's, however short. */
const OWN = /(?:^|[./"])contacts(?:"|\.parquet)$/;

const SEPARATOR = String.fromCharCode(1);
const BEFORE_WORD = `(?:^|[^\\p{L}\\p{N}]|${ESCAPED_SIGN})`;
/** DuckDB limits the size of a pattern. */
const TEXTS_PER_PATTERN = 50;

/** Matches one of the texts as a whole word; a short id in a table of contacts as a whole cell. */
const wordOf = (forms: string, isWholeCell: boolean): string =>
  isWholeCell ? `(?:^|${SEPARATOR})(?:${forms})(?:$|${SEPARATOR})` : `${BEFORE_WORD}(?:${forms})(?:$|[^\\p{L}\\p{N}])`;

interface Pattern {
  readonly group: Group;
  /** A text without one of these holds no trace of the group. */
  readonly sameParts: readonly string[];
  /** Matches a trace of the group, also inside a word. */
  readonly part: string;
  readonly word: string;
}

const patternsOf = (traces: readonly Trace[], isOwn: boolean): readonly Pattern[] =>
  GROUPS.flatMap((group) => {
    const texts = traces.filter((trace) => groupOf(trace) === group).map(({ text }) => text);
    return Array.from({ length: Math.ceil(texts.length / TEXTS_PER_PATTERN) }, (_, at) => {
      const some = texts.slice(at * TEXTS_PER_PATTERN, (at + 1) * TEXTS_PER_PATTERN);
      const part = some.map(formsOf).join("|");
      return { group, sameParts: some.map(samePartOf), part, word: wordOf(part, group === "short id" && isOwn) };
    });
  });

/** Counts rows whose texts hold a trace, as a whole word and as part of a text. */
const foundInTable = async (
  database: Database,
  { path, columns, isOwn }: { readonly path: string; readonly columns: readonly string[]; readonly isOwn: boolean },
  traces: readonly Trace[],
) => {
  const text = `concat_ws(chr(1), ${columns.map((column) => `CAST(${column} AS VARCHAR)`).join(", ")})`;
  const found: { readonly group: Group; readonly whole: number }[] = [];
  for (const { group, sameParts, part, word } of patternsOf(traces, isOwn)) {
    const mayBe = sameParts.map((_, at) => `contains(cell, $${at + 2})`).join(" OR ");
    const rowsWith = async (pattern: string) => {
      const query = `SELECT count(*) FROM (SELECT ${text} AS cell FROM ${path})
        WHERE CASE WHEN ${mayBe} THEN regexp_matches(cell, $1) ELSE false END`;
      return (await numberOf(database, query, [pattern, ...sameParts])) ?? 0;
    };
    // The pattern of words takes long to prepare, and few tables hold a trace.
    if ((await rowsWith(part)) > 0) found.push({ group, whole: await rowsWith(word) });
  }
  return found;
};

interface Cells {
  readonly tables: number;
  readonly rows: number;
  /** Ids that must not be there. */
  readonly left: readonly Hit[];
  readonly mentions: readonly Hit[];
  /** Groups found in some cell, also inside a longer word, which explains them in the file's bytes. */
  readonly held: ReadonlySet<Group>;
}

const scanTables = async (
  database: Database,
  file: string,
  tables: readonly z.output<typeof columnsRow>[],
  traces: readonly Trace[],
): Promise<Cells> => {
  const left: Hit[] = [];
  const mentions: Hit[] = [];
  const held = new Set<Group>();
  let rows = 0;
  for (const { path, columns } of tables) {
    rows += (await numberOf(database, `SELECT count(*) FROM ${path}`)) ?? 0;
    const isOwn = OWN.test(path) || OWN.test(file);
    for (const { group, whole } of await foundInTable(database, { path, columns, isOwn }, traces)) {
      held.add(group);
      const isLeft = group === "id" || (group === "short id" && isOwn);
      const hit = { file, table: path.replaceAll('"', ""), kind: kindOf(group), times: whole };
      if (whole > 0) (isLeft ? left : mentions).push(hit);
    }
  }
  return { tables: tables.length, rows, left, mentions, held };
};

const scanCells = async (file: string, traces: readonly Trace[]): Promise<Cells> => {
  const parquet = file.endsWith(".parquet");
  const database = await openDatabase(parquet ? ":memory:" : file, parquet ? {} : { readOnly: true });
  try {
    if (!parquet) {
      const tables = await database.query(sqlText("warehouse/text-columns.sql"), [], columnsRow);
      return await scanTables(database, file, tables, traces);
    }
    await database.run(`CREATE VIEW "part" AS SELECT * FROM read_parquet(${literal(file)})`);
    const [columns] = await database.query(sqlText("warehouse/text-columns-of-view.sql"), [], columnsRow);
    const cells = await scanTables(database, file, columns === undefined ? [] : [columns], traces);
    const ofFile = (hits: readonly Hit[]) => hits.map((hit) => ({ ...hit, table: null }));
    return { ...cells, left: ofFile(cells.left), mentions: ofFile(cells.mentions) };
  } finally {
    await database.close();
  }
};

const isChunk = (chunk: unknown): chunk is Buffer => Buffer.isBuffer(chunk);
async function* bytesOf(file: string): AsyncIterable<Buffer> {
  for await (const chunk of await streamOwn(file)) if (isChunk(chunk)) yield chunk;
}

/**
 * Matches in a database's bytes that a fresh copy of its cells does not have. A fresh copy holds no deleted values: what
 * matches there is two values side by side, `12` and `34` for the id `1234`.
 */
const notByChance = async (
  file: string,
  found: readonly string[],
  forms: readonly Form[],
  means: RewriteMeans,
): Promise<readonly string[]> => {
  makeFolders(means.tempDir);
  const folder = await mkdtemp(join(means.tempDir, "scan-"));
  try {
    const fresh = join(folder, basename(file));
    await copyContents(file, fresh, means);
    const explained = new Set(await matchesIn(bytesOf(fresh), forms, { words: false }));
    return found.filter((match) => !explained.has(match));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const scanFile = async (
  file: string,
  traces: readonly Trace[],
  means: RewriteMeans,
): Promise<{ cells: Cells | null; left: Hit[]; mentions: Hit[] }> => {
  const packed = /\.(duckdb|parquet)$/.test(file);
  const cells = packed ? await scanCells(file, traces) : null;
  const left: Hit[] = [...(cells?.left ?? [])];
  const mentions: Hit[] = [...(cells?.mentions ?? [])];
  for (const group of GROUPS) {
    const forms = traces.filter((trace) => groupOf(trace) === group).map(({ text }) => formOf(text));
    if (forms.length === 0) continue;
    const chunks = file.endsWith(".gz") ? decodedChunks(file) : bytesOf(file);
    const found = await matchesIn(chunks, forms, { words: !packed });
    if (found.length === 0 || cells?.held.has(group)) continue;
    const isDatabase = file.endsWith(".duckdb");
    const times = isDatabase ? (await notByChance(file, found, forms, means)).length : found.length;
    if (times === 0) continue;
    // Found only in a compressed file's bytes: deleted values that were left in place.
    const isLeft = isDatabase || group === "id" || (packed && group !== "short id");
    (isLeft ? left : mentions).push({ file, table: null, kind: kindOf(group), times });
  }
  return { cells, left, mentions };
};

/** Searches every file below `dirs`. Skips files that disappear meanwhile. Throws the error of a folder that cannot be read. */
export const scanFor = async (
  people: readonly Person[],
  dirs: readonly string[],
  means: RewriteMeans,
): Promise<Scan> => {
  const traces = people.flatMap((person) => person.traces);
  const scans: Awaited<ReturnType<typeof scanFile>>[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const dir of dirs) {
    for (const file of await filesIn(dir)) {
      if (seen.has(file) || basename(file) === "forget.key") continue;
      seen.add(file);
      const size = (await stat(file).catch(() => null))?.size;
      if (size === undefined) continue;
      bytes += size;
      scans.push(await scanFile(file, traces, means));
    }
  }
  const sum = (of: "tables" | "rows") => scans.reduce((all, { cells }) => all + (cells?.[of] ?? 0), 0);
  return {
    files: scans.length,
    bytes,
    tables: sum("tables"),
    rows: sum("rows"),
    texts: traces.length,
    left: scans.flatMap(({ left }) => left),
    mentions: scans.flatMap(({ mentions }) => mentions),
  };
};
