// Words of a search: which texts they match, which of those come first, and what is shown of them.
import { expect, test } from "vitest";
import { folded, scoreOf, searchWords, snippetOf } from "../../../../../src/warehouse/read/search/search.ts";

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

const collection = { rows: 1000, matching: [10, 500], meanLength: 200 };
const candidate = (inTitle: number[], inBody: number[], length = 200) =>
  scoreOf({ inTitle, inBody, length }, collection);

test("a rare word counts more than a common one, a title more than a text, a short text more than a long one", () => {
  expect(candidate([0, 0], [1, 0])).toBeGreaterThan(candidate([0, 0], [0, 3]));
  expect(candidate([1, 0], [0, 0])).toBeGreaterThan(candidate([0, 0], [1, 0]));
  expect(candidate([0, 0], [1, 0], 100)).toBeGreaterThan(candidate([0, 0], [1, 0], 5000));
  expect(candidate([0, 0], [0, 0])).toBe(0);
});

test("a snippet begins shortly before the place with most words", () => {
  const text = `${"nothing of note here. ".repeat(30)}Acme raises money and hires engineers in Berlin. ${"and so on. ".repeat(40)}`;
  const snippet = snippetOf(text, searchWords("hiring berlin"));
  expect(snippet).toMatch(/^….*hires engineers in Berlin/);
  expect(snippet.length).toBeLessThanOrEqual(202);
  expect(snippetOf("short text", searchWords("absent"))).toBe("short text");
});

test("a text with ten thousand occurrences is cut in one pass", () => {
  const text = `${"is to at be as by ".repeat(9_000)}zebra is to at zebra`;
  const begun = process.cpuUsage();
  expect(snippetOf(text, searchWords("is to at be as by zebra")).length).toBeLessThanOrEqual(202);
  // Compared pair by pair, the places took 8 s.
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(2_000);
});
