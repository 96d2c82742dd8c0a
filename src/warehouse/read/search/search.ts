// Searches the texts of a snapshot: names, titles, descriptions, articles, transcripts, insights. Reads only.
import { z } from "zod";
import { isTableName, SEARCHED_TABLES, type TableName, tableSpec } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";
import { instant, type ReadSql } from "../../duckdb/statements.ts";
import { recordOf } from "../changes/versions.ts";

// Generates the statements of a search from the catalog. Pure; words are bound.
// They read the tables themselves, so no index can be stale, take space or hold an erased person.

// The words of a search: folded (no case, no accents), and the pattern that finds each of them in folded text. Pure.
// English endings are taken off, so that `hiring` finds `hires`; `word*` finds every word that begins so.

interface SearchWord {
  /** Contained in every text in which the pattern matches. */
  readonly stem: string;
  /** RE2 pattern over folded text. */
  readonly pattern: string;
  /** RE2 pattern that matches, without case, in every text as it is whose folded form has the word. */
  readonly unfolded: string;
}

const MOST_WORDS = 12;
const LETTER = "\\p{L}\\p{N}";
/** Scripts that put no space between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const ENDINGS = ["ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "s", "e", "y"] as const;
/** What a stem may end with; the endings above and none. */
const ANY_ENDING = `(?:${ENDINGS.join("|")})?`;
/** Shorter stems would find other words. */
const LEAST_STEM = 3;
/** Words with fewer letters are looked for as whole words at once. */
const SHORT = 3;

/** Text as the search compares it: the same as `lower(strip_accents(x))` of DuckDB for letters. */
export const folded = (text: string): string =>
  text.normalize("NFD").replaceAll(/\p{M}/gu, "").normalize("NFC").toLowerCase();

const stemOf = (word: string): string => {
  if (!/^[a-z]+$/.test(word)) return word;
  const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length >= LEAST_STEM);
  return ending === undefined ? word : word.slice(0, -ending.length);
};

const bounded = (inner: string): string => `(?:^|[^${LETTER}])${inner}(?:[^${LETTER}]|$)`;

/** The letters that folding makes of each letter with accents, read backwards; nothing after U+30FF is folded to one letter. */
let alike: ReadonlyMap<string, string> | undefined;
const alikeOf = (letter: string): string => {
  if (alike === undefined) {
    const found = new Map<string, string>();
    for (let code = 0xc0; code < 0x3100; code += 1) {
      const other = String.fromCharCode(code);
      const plain = folded(other);
      if (plain !== other && plain.length === 1) found.set(plain, (found.get(plain) ?? "") + other);
    }
    alike = found;
  }
  return alike.get(letter) ?? "";
};

/** Marks of Latin letters: `\p{M}` after each letter would take longer to compile than a small mirror to read. */
const LATIN_MARKS = "[\u0300-\u036f]*";

/** The pattern of folded letters as one of letters with any accents. */
const accented = (letters: string): string =>
  letters.replaceAll(
    /[\p{L}\p{N}]/gu,
    (letter) => `[${letter}${alikeOf(letter)}]${/[a-z]/.test(letter) ? LATIN_MARKS : "\\p{M}*"}`,
  );

const wordOf = (text: string): SearchWord => {
  const prefix = text.endsWith("*");
  const word = prefix ? text.slice(0, -1) : text;
  if (UNSPACED.test(word)) return { stem: word, pattern: word, unfolded: accented(word) };
  const stem = prefix ? word : stemOf(word);
  const [ending, accentedEnding] = prefix
    ? [`[${LETTER}]*`, `[${LETTER}]*`]
    : /^[a-z]+$/.test(word)
      ? [ANY_ENDING, accented(ANY_ENDING)]
      : ["", ""];
  const unfolded = stem.length < SHORT ? bounded(accented(stem) + accentedEnding) : accented(stem);
  return { stem, pattern: bounded(stem + ending), unfolded };
};

/** The distinct words of a search, at most 12. Throws USAGE if it has none. */
export const searchWords = (text: string): readonly SearchWord[] => {
  const found = folded(text).match(/[\p{L}\p{N}]+\*?/gu) ?? [];
  const words = [...new Set(found)].slice(0, MOST_WORDS).map(wordOf);
  if (words.length === 0) throw new DuckmirrorError("USAGE", { detail: "no word to search for was given" });
  return [...new Map(words.map((word) => [word.pattern, word])).values()];
};

/** Rows of a table that are ranked: those with most of the words, the newest first. */
const MOST_CANDIDATES = 2_000;

const typeOf = (table: TableName, column: string) =>
  tableSpec(table).fields.find((field) => field.column === column)?.columnType;

const rawText = (table: TableName, column: string): string => {
  if (typeOf(table, column) === "JSON") return `CAST(t.${quoted(column)} AS VARCHAR)`;
  return typeOf(table, column) === "VARCHAR[]" ? `array_to_string(t.${quoted(column)}, ' ')` : `t.${quoted(column)}`;
};
/** Names of members of an object are no text of the record. */
const textOf = (table: TableName, column: string): string =>
  typeOf(table, column) === "JSON"
    ? `regexp_replace(${rawText(table, column)}, '"[A-Za-z0-9_]+" ?:|[{}\\[\\]"]', ' ', 'g')`
    : rawText(table, column);

const accountOf = (table: TableName): string => {
  if (table === "accounts") return "t.id";
  if (tableSpec(table).fields.some(({ column }) => column === "account_id")) return "t.account_id";
  const company = table === "companies" ? "t.id" : "t.company_id";
  return `(SELECT min(a.id) FROM main.accounts AS a WHERE a.company_id = ${company})`;
};

const foldedSql = (text: string) => `lower(strip_accents(${text}))`;

interface SearchSql {
  /**
   * Candidates with how often each word is in title and text. Parameters: $1 stems, $2 patterns, $3 earliest date or NULL,
   * $4 patterns of texts that are not folded. `matching`: rows of the table per word; `rows`: rows of the table.
   */
  readonly candidates: string;
  /** Key, account, title, date and text of some candidates. Parameter: $1 row ids as text. */
  readonly details: string;
}

const searchSql = (table: TableName, words: readonly SearchWord[]): SearchSql => {
  const { search, datedBy } = tableSpec(table);
  if (search === undefined) throw new TypeError(`${table} is not searched`);
  const { title, texts, at = datedBy ?? "_synced_at" } = search;
  const source = `main.${quoted(table)} AS t`;
  const body = `concat_ws(' · ', ${[...texts.map((column) => textOf(table, column)), "NULL"].join(", ")})`;
  const numbers = words.map((_, index) => index + 1);
  // One text per row: an expression per word and column takes DuckDB half a second to plan. No word reaches over a line's end.
  const wholeText = `concat_ws(chr(10), ${[title, ...texts.map((column) => rawText(table, column))].join(", ")})`;
  // Nearly every text holds the letters of a short word somewhere, so its pattern decides; of others their letters are quicker.
  // DuckDB takes off accents fifteen times as slowly as it matches a pattern, so only texts without any are folded.
  const holds = (word: number) => {
    const matches = `regexp_matches(f.text, $4[${word}], 'i')`;
    if ((words[word - 1]?.stem.length ?? 0) < SHORT) return matches;
    return `CASE WHEN f.plain IS NULL THEN ${matches} ELSE contains(f.plain, $1[${word}]) END`;
  };
  const count = (text: string) =>
    `[${numbers.map((word) => `len(regexp_extract_all(${text}, $2[${word}]))`).join(", ")}]`;
  const key = tableSpec(table).key.map((column) => `${literal(column)}, t.${quoted(column)}`);
  return {
    candidates: `WITH scanned AS (
  SELECT f.place, f.dated, ${numbers.map((word) => `${holds(word)} AS has${word}`).join(", ")}
  FROM (
    SELECT place, dated, text, CASE WHEN strlen(text) = length(text) THEN lower(text) END AS plain
    FROM (
      SELECT t.rowid AS place, t.${quoted(at)} AS dated, ${wholeText} AS text
      -- Where every word is short, nothing else names $1, and DuckDB takes no value that a statement does not name.
      FROM ${source} WHERE ($3 IS NULL OR t.${quoted(at)} >= $3) AND $1 IS NOT NULL
    )
  ) AS f
), hits AS (
  SELECT *, ${numbers.map((word) => `has${word}::INTEGER`).join(" + ")} AS words FROM scanned
  WHERE ${numbers.map((word) => `has${word}`).join(" OR ")}
),
top AS (SELECT place FROM hits ORDER BY words DESC, dated DESC NULLS LAST LIMIT ${MOST_CANDIDATES})
SELECT CAST(c.place AS VARCHAR) AS place, ${count("title")} AS in_title, ${count("body")} AS in_body, length(body) AS length,
  (SELECT [${numbers.map((word) => `count(*) FILTER (has${word})`).join(", ")}] FROM hits) AS matching,
  (SELECT count(*) FROM ${source}) AS rows
FROM (
  SELECT t.rowid AS place, ${foldedSql(`coalesce(${title}, '')`)} AS title, ${foldedSql(body)} AS body
  FROM ${source} WHERE t.rowid IN (SELECT place FROM top)
) AS c`,
    details: `SELECT CAST(t.rowid AS VARCHAR) AS place, CAST(json_object(${key.join(", ")}) AS VARCHAR) AS key,
  CAST(${accountOf(table)} AS BIGINT) AS account_id, ${title} AS title, epoch_ms(t.${quoted(at)}) AS dated, ${body} AS body
FROM ${source} WHERE t.rowid IN (SELECT CAST(unnest($1) AS BIGINT))`,
  };
};

// Ranks what a search found by BM25, and cuts the part of a text that holds most words. Pure.

/** BM25: how soon repeated words stop to count, and how much long texts are held back. */
const K1 = 1.2;
const B = 0.75;
/** Weight of a word in the title; in the text it has 1. */
const TITLE_WEIGHT = 3;
/** Length of a snippet, characters, and how much of it comes before the first word found. */
const SNIPPET = 200;
const BEFORE = 40;

interface Candidate {
  /** Occurrences per word. */
  readonly inTitle: readonly number[];
  readonly inBody: readonly number[];
  /** Characters of the text. */
  readonly length: number;
}

/** How rare each word is, from rows that hold it, and the mean length of the candidates. */
interface Collection {
  readonly rows: number;
  readonly matching: readonly number[];
  readonly meanLength: number;
}

/** BM25 score; 0: no word is in it. */
export const scoreOf = ({ inTitle, inBody, length }: Candidate, { rows, matching, meanLength }: Collection): number => {
  const held = K1 * (1 - B + (B * length) / Math.max(1, meanLength));
  return inBody.reduce((sum, count, word) => {
    const often = count + TITLE_WEIGHT * (inTitle[word] ?? 0);
    const withWord = matching[word] ?? 0;
    const rarity = Math.log(1 + (rows - withWord + 0.5) / (withWord + 0.5));
    return sum + (rarity * often * (K1 + 1)) / (often + held);
  }, 0);
};

/** Positions at which words begin in the text. */
const positionsOf = (text: string, words: readonly SearchWord[]): readonly number[] => {
  // Folding may change a text's length; then positions do not agree, and the snippet is the beginning.
  const plain = folded(text);
  if (plain.length !== text.length) return [];
  return words
    .flatMap(({ pattern }) => [...plain.matchAll(new RegExp(pattern, "gu"))].map(({ index }) => index))
    .sort((a, b) => a - b);
};

/** The position after which most others are near; positions ascend. One pass: a long text holds a frequent word thousands of times. */
const densest = (positions: readonly number[]): number => {
  let [best, most, end] = [positions[0] ?? 0, 0, 0];
  for (const [first, start] of positions.entries()) {
    while (end < positions.length && (positions[end] ?? 0) < start + SNIPPET - BEFORE) end += 1;
    if (end - first > most) [best, most] = [start, end - first];
  }
  return best;
};

/** At most 200 characters of the text, from shortly before the place where most words are near each other. */
export const snippetOf = (text: string, words: readonly SearchWord[]): string => {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  const positions = positionsOf(flat, words);
  const best = densest(positions);
  const start = best <= BEFORE ? 0 : flat.indexOf(" ", best - BEFORE) + 1;
  const cut = flat.slice(start, start + SNIPPET);
  return `${start > 0 ? "…" : ""}${cut}${start + SNIPPET < flat.length ? "…" : ""}`;
};

export interface SearchRequest {
  readonly words: string;
  /** Tables to search; empty: all. */
  readonly tables: readonly string[];
  /** Rows with a date from here on, ms since the epoch; unset: all. */
  readonly since?: number;
  readonly limit: number;
}

/** A row that was found; the best have the highest score. */
export interface Found {
  readonly table: TableName;
  readonly key: JsonObject;
  readonly account_id: number | bigint | null;
  readonly title: string | null;
  readonly snippet: string;
  readonly score: number;
  /** Date of the record, ISO 8601; null: it has none. */
  readonly at: string | null;
}

export const MOST_FOUND = 1_000;

const numbers = z.array(z.coerce.number());
const candidateRow = z.object({
  place: z.string(),
  in_title: numbers,
  in_body: numbers,
  length: z.coerce.number(),
  matching: numbers,
  rows: z.coerce.number(),
});
const detailRow = z.object({
  place: z.string(),
  key: z.string(),
  account_id: z.union([z.number(), z.bigint()]).nullable(),
  title: z.string().nullable(),
  dated: z.coerce.number().nullable(),
  body: z.string().nullable(),
});

/** The tables of a search. Throws USAGE for one that is not searched. */
const tablesOf = (names: readonly string[]): readonly TableName[] => {
  if (names.length === 0) return SEARCHED_TABLES;
  return names.map((name) => {
    if (isTableName(name) && SEARCHED_TABLES.includes(name)) return name;
    const detail = `there is no text to search in ${name}; tables: ${SEARCHED_TABLES.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  });
};

interface Ranked extends Candidate {
  readonly table: TableName;
  readonly place: string;
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

/** The rows that hold at least one word, the best first. Throws USAGE. */
export const search = async (sql: ReadSql, request: SearchRequest): Promise<readonly Found[]> => {
  const words = searchWords(request.words);
  const [stems, patterns] = [words.map(({ stem }) => stem), words.map(({ pattern }) => pattern)];
  const unfolded = words.map((word) => word.unfolded);
  const since = request.since === undefined ? null : instant(request.since);
  const candidates: Ranked[] = [];
  const matching = words.map(() => 0);
  let rows = 0;
  for (const table of tablesOf(request.tables)) {
    const found = await sql.query(searchSql(table, words).candidates, [stems, patterns, since, unfolded], candidateRow);
    for (const [word, count] of (found[0]?.matching ?? []).entries()) matching[word] = (matching[word] ?? 0) + count;
    rows += found[0]?.rows ?? 0;
    for (const { place, in_title: inTitle, in_body: inBody, length } of found) {
      candidates.push({ table, place, inTitle, inBody, length });
    }
  }
  const meanLength = sum(candidates.map(({ length }) => length)) / Math.max(1, candidates.length);
  const collection: Collection = { rows, matching, meanLength };
  const best = candidates
    .map((candidate) => ({ ...candidate, score: scoreOf(candidate, collection) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, request.limit);
  const details = new Map<string, z.output<typeof detailRow>>();
  for (const table of new Set(best.map((one) => one.table))) {
    const theirs = best.filter((one) => one.table === table).map(({ place }) => place);
    for (const one of await sql.query(searchSql(table, words).details, [theirs], detailRow)) {
      details.set(`${table} ${one.place}`, one);
    }
  }
  return best.flatMap(({ table, place, score }): readonly Found[] => {
    const detail = details.get(`${table} ${place}`);
    if (detail === undefined) return [];
    const { key, account_id, title, dated, body } = detail;
    return [
      {
        table,
        key: recordOf(table, key),
        account_id,
        title,
        snippet: snippetOf(body || title || "", words),
        score: Math.round(score * 1000) / 1000,
        at: dated === null ? null : new Date(dated).toISOString(),
      },
    ];
  });
};
