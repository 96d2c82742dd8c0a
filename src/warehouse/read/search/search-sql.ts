// Generates the statements of a search from the catalog. Pure; words are bound.
// They read the tables themselves, so no index can be stale, take space or hold an erased person.
import { SEARCHABLE, type Searchable, type SearchableTable } from "../../../catalog/searchable.ts";
import { tableSpec } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";

// The words of a search: folded (no case, no accents), and the pattern that finds each of them in folded text. Pure.
// English endings are taken off, so that `hiring` finds `hires`; `word*` finds every word that begins so.

export interface SearchWord {
  /** Contained in every text in which the pattern matches. */
  readonly stem: string;
  /** RE2 pattern over folded text. */
  readonly pattern: string;
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

/** Text as the search compares it: the same as `lower(strip_accents(x))` of DuckDB for letters. */
export const folded = (text: string): string =>
  text.normalize("NFD").replaceAll(/\p{M}/gu, "").normalize("NFC").toLowerCase();

const stemOf = (word: string): string => {
  if (!/^[a-z]+$/.test(word)) return word;
  const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length >= LEAST_STEM);
  return ending === undefined ? word : word.slice(0, -ending.length);
};

const bounded = (inner: string): string => `(?:^|[^${LETTER}])${inner}(?:[^${LETTER}]|$)`;

const wordOf = (text: string): SearchWord => {
  const prefix = text.endsWith("*");
  const word = prefix ? text.slice(0, -1) : text;
  if (UNSPACED.test(word)) return { stem: word, pattern: word };
  if (prefix) return { stem: word, pattern: bounded(`${word}[${LETTER}]*`) };
  const stem = stemOf(word);
  return { stem, pattern: bounded(/^[a-z]+$/.test(word) ? `${stem}${ANY_ENDING}` : word) };
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

/** Words with fewer letters are looked for as whole words at once. */
const SHORT = 3;

const typeOf = (table: SearchableTable, column: string) =>
  tableSpec(table).fields.find((field) => field.column === column)?.columnType;

const rawText = (table: SearchableTable, column: string): string => {
  if (typeOf(table, column) === "JSON") return `CAST(t.${quoted(column)} AS VARCHAR)`;
  return typeOf(table, column) === "VARCHAR[]" ? `array_to_string(t.${quoted(column)}, ' ')` : `t.${quoted(column)}`;
};
/** Names of members of an object are no text of the record. */
const textOf = (table: SearchableTable, column: string): string =>
  typeOf(table, column) === "JSON"
    ? `regexp_replace(${rawText(table, column)}, '"[A-Za-z0-9_]+" ?:|[{}\\[\\]"]', ' ', 'g')`
    : rawText(table, column);

const accountOf = (table: SearchableTable): string => {
  if (table === "accounts") return "t.id";
  if (tableSpec(table).fields.some(({ column }) => column === "account_id")) return "t.account_id";
  const company = table === "companies" ? "t.id" : "t.company_id";
  return `(SELECT min(a.id) FROM main.accounts AS a WHERE a.company_id = ${company})`;
};

const foldedSql = (text: string) => `lower(strip_accents(${text}))`;

export interface SearchSql {
  /**
   * Candidates with how often each word is in title and text. Parameters: $1 stems, $2 patterns, $3 earliest date or NULL.
   * `matching`: rows of the table per word; `rows`: rows of the table.
   */
  readonly candidates: string;
  /** Key, account, title, date and text of some candidates. Parameter: $1 row ids as text. */
  readonly details: string;
}

export const searchSql = (table: SearchableTable, words: readonly SearchWord[]): SearchSql => {
  const { title, texts, at }: Searchable = SEARCHABLE[table];
  const source = `main.${quoted(table)} AS t`;
  const body = `concat_ws(' · ', ${texts.map((column) => textOf(table, column)).join(", ")})`;
  const numbers = words.map((_, index) => index + 1);
  // Nearly every text holds the letters of a short word somewhere, so its pattern decides; of others their letters are quicker.
  const holds = (text: string, word: number) =>
    (words[word - 1]?.stem.length ?? 0) < SHORT
      ? `regexp_matches(${foldedSql(text)}, $2[${word}])`
      : `contains(${foldedSql(text)}, $1[${word}])`;
  const has = (word: number) =>
    [title, ...texts.map((column) => rawText(table, column))]
      .map((text) => `coalesce(${holds(text, word)}, false)`)
      .join(" OR ");
  const count = (text: string) =>
    `[${numbers.map((word) => `len(regexp_extract_all(${text}, $2[${word}]))`).join(", ")}]`;
  const key = tableSpec(table).key.map((column) => `${literal(column)}, t.${quoted(column)}`);
  return {
    candidates: `WITH scanned AS (
  SELECT t.rowid AS place, t.${quoted(at)} AS dated, [${numbers.map((word) => `(${has(word)})::INTEGER`).join(", ")}] AS has
  -- Where every word is short, no pattern of letters is read, and DuckDB takes no value that a statement does not name.
  FROM ${source} WHERE ($3 IS NULL OR t.${quoted(at)} >= $3) AND $1 IS NOT NULL
), hits AS (SELECT place, dated, has, list_sum(has) AS words FROM scanned WHERE list_sum(has) > 0),
top AS (SELECT place FROM hits ORDER BY words DESC, dated DESC NULLS LAST LIMIT ${MOST_CANDIDATES})
SELECT CAST(c.place AS VARCHAR) AS place, ${count("title")} AS in_title, ${count("body")} AS in_body, length(body) AS length,
  (SELECT [${numbers.map((word) => `sum(has[${word}])`).join(", ")}] FROM hits) AS matching,
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
