// Searches the texts of a snapshot: names, titles, descriptions, articles, transcripts, insights. Reads only.
import { z } from "zod";
import { isSearchable, SEARCHABLE_TABLES, type SearchableTable } from "../../../catalog/searchable.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { instant } from "../../duckdb/duck-values.ts";
import type { ReadSql } from "../../duckdb/statements.ts";
import { recordOf } from "../changes/versions.ts";
import { folded, type SearchWord, searchSql, searchWords } from "./search-sql.ts";

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

/** At most 200 characters of the text, from shortly before the place where most words are near each other. */
export const snippetOf = (text: string, words: readonly SearchWord[]): string => {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  const positions = positionsOf(flat, words);
  const near = (start: number) => positions.filter((at) => at >= start && at < start + SNIPPET - BEFORE).length;
  const best = positions.reduce((a, b) => (near(b) > near(a) ? b : a), positions[0] ?? 0);
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
  readonly table: SearchableTable;
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
const tablesOf = (names: readonly string[]): readonly SearchableTable[] => {
  if (names.length === 0) return SEARCHABLE_TABLES;
  return names.map((name) => {
    if (isSearchable(name)) return name;
    const detail = `there is no text to search in ${name}; tables: ${SEARCHABLE_TABLES.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  });
};

interface Ranked extends Candidate {
  readonly table: SearchableTable;
  readonly place: string;
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

/** The rows that hold at least one word, the best first. Throws USAGE. */
export const search = async (sql: ReadSql, request: SearchRequest): Promise<readonly Found[]> => {
  const words = searchWords(request.words);
  const [stems, patterns] = [words.map(({ stem }) => stem), words.map(({ pattern }) => pattern)];
  const since = request.since === undefined ? null : instant(request.since);
  const candidates: Ranked[] = [];
  const matching = words.map(() => 0);
  let rows = 0;
  for (const table of tablesOf(request.tables)) {
    const found = await sql.query(searchSql(table, words).candidates, [stems, patterns, since], candidateRow);
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
