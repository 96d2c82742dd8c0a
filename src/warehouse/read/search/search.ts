// Searches the texts of a snapshot: names, titles, descriptions, articles, transcripts, insights. Reads only.
import { z } from "zod";
import { isSearchable, SEARCHABLE_TABLES, type SearchableTable } from "../../../catalog/searchable.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { instant } from "../../duckdb/duck-values.ts";
import type { ReadSql } from "../../duckdb/statements.ts";
import { recordOf } from "../changes/versions.ts";
import { type Candidate, type Collection, scoreOf, snippetOf } from "./ranking.ts";
import { searchSql } from "./search-sql.ts";
import { searchWords } from "./search-words.ts";

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
