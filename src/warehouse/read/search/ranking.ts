// Ranks what a search found by BM25, and cuts the part of a text that holds most words. Pure.
import { folded, type SearchWord } from "./search-words.ts";

/** BM25: how soon repeated words stop to count, and how much long texts are held back. */
const K1 = 1.2;
const B = 0.75;
/** Weight of a word in the title; in the text it has 1. */
const TITLE_WEIGHT = 3;
/** Length of a snippet, characters, and how much of it comes before the first word found. */
const SNIPPET = 200;
const BEFORE = 40;

export interface Candidate {
  /** Occurrences per word. */
  readonly inTitle: readonly number[];
  readonly inBody: readonly number[];
  /** Characters of the text. */
  readonly length: number;
}

/** How rare each word is, from rows that hold it, and the mean length of the candidates. */
export interface Collection {
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
