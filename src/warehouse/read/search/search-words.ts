// The words of a search: folded (no case, no accents), and the pattern that finds each of them in folded text. Pure.
// English endings are taken off, so that `hiring` finds `hires`; `word*` finds every word that begins so.
import { DuckmirrorError } from "../../../core/errors.ts";

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
