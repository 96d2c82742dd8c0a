import { expect, test } from "vitest";
import { scoreOf, searchWords, snippetOf } from "../../../../../src/warehouse/read/search/search.ts";

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
