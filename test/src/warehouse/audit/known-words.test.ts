// Words that a redacted statement may hold: SQL's, and names that the mirror defines; no user's.
import { expect, test } from "vitest";
import { knownWords } from "../../../../src/warehouse/audit/known-words.ts";

test.each(["select", "accounts", "company_id", "marts", "freshness", "regexp_extract"])("%s is known", (word) => {
  expect(knownWords().words.has(word)).toBe(true);
});

test("names that the mirror defines are known inside quotes, too; words of SQL are not, since quoted text may be a value", () => {
  const { names } = knownWords();
  expect(["accounts", "company_id", "freshness"].filter((name) => !names.has(name))).toEqual([]);
  expect(["select", "regexp_extract"].filter((word) => names.has(word))).toEqual([]);
});

test("values and comments of the views' texts are not known", () => {
  const { words } = knownWords();
  expect(["newjoiner", "grain"].filter((word) => words.has(word))).toEqual([]);
});
