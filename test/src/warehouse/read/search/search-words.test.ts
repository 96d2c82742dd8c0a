import { expect, test } from "vitest";
import { folded, searchWords } from "../../../../../src/warehouse/read/search/search.ts";

const finds = (search: string, text: string) =>
  searchWords(search).every(({ stem, pattern, unfolded }) => {
    const plain = folded(text);
    const matches = new RegExp(pattern, "u").test(plain);
    // The statement ranks only rows that hold the stem, or whose text with accents matches.
    expect(matches && !plain.includes(stem)).toBe(false);
    expect(matches && !new RegExp(unfolded, "iu").test(text)).toBe(false);
    return matches;
  });

test.each([
  ["hiring", "Acme hires ten engineers", true],
  ["hire", "Acme is hiring", true],
  ["company", "two companies", true],
  ["cafe", "Le Café de Paris", true],
  ["MÜNCHEN", "office in munchen", true],
  ["engin*", "software engineering", true],
  ["art", "a new party", false],
  ["ing", "hiring", false],
  ["b", "Series B round", true],
  ["b", "Series C bring", false],
  ["cafe", "Le Cafe\u0301 de Paris", true],
  ["employee", "les EMPLOYÉS", true],
  ["la", "LÁS Vegas", true],
  ["a*", "der Ärger", true],
  ["istanbul", "İstanbul", true],
  ["ελλας", "Ελλάς", true],
  ["елка", "Ёлка", true],
  ["カ", "ガス", true],
  ["москва", "офис в Москва, Россия", true],
  ["日経", "東京日経フォーラム", true],
  ["10-k", "Form 10-K of 2026", true],
])("%s in “%s”: %s", (search, text, found) => {
  expect(finds(search, text)).toBe(found);
});

test("the same word twice is one word, and a search without a word is refused", () => {
  expect(searchWords("Hiring hiring HIRING")).toHaveLength(1);
  expect(() => searchWords(" -- ")).toThrow("no word");
});
