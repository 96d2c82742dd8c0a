// docs/RELIABILITY.md: every row names tests that exist, by file and by words that stand in it.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);
const text = readFileSync(new URL("docs/RELIABILITY.md", root), "utf8");
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes(".test.ts`"))
  .map((line) => line.split(" | "));

/** Text of a test file named from `test/` or `test/src/`; empty when there is none. */
const sourceOf = (name: string): string => {
  const found = [`test/${name}`, `test/src/${name}`].find((path) => existsSync(new URL(path, root)));
  return found === undefined ? "" : readFileSync(new URL(found, root), "utf8");
};

test("has a row for each of at least 45 faults, each with an expectation and a test", () => {
  expect(rows.length).toBeGreaterThanOrEqual(45);
  for (const cells of rows) expect(cells.map((cell) => cell.trim().length > 3)).toEqual([true, true, true]);
  const faults = rows.map(([fault]) => fault);
  expect(new Set(faults).size).toBe(faults.length);
});

test("names only tests that exist", () => {
  const missing = rows.flatMap(([fault = "", , shown = ""]) => {
    const named = [...shown.matchAll(/`([\w./-]+\.test\.ts)` "([^"]+)"/g)];
    if (named.length === 0) return [`${fault}: names no test`];
    return named.flatMap(([, file = "", words = ""]) =>
      sourceOf(file).includes(words) ? [] : [`${fault}: ${file} "${words}"`],
    );
  });
  expect(missing).toEqual([]);
});
