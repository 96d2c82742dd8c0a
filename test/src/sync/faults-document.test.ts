// docs/RELIABILITY.md: every promise names files of tests that exist.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);
const text = readFileSync(new URL("docs/RELIABILITY.md", root), "utf8");
const table = text.slice(text.indexOf("| promise | shown by |"), text.indexOf("**Not promised.**"));
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (promise|---|\*\*)/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** A test file named from `test/` or `test/src/` holds a test. */
const holdsATest = (name: string): boolean =>
  [`test/${name}`, `test/src/${name}`].some((path) => {
    const file = new URL(path, root);
    return existsSync(file) && /\b(test|it|property)\b/.test(readFileSync(file, "utf8"));
  });

test("makes at least 30 promises, each once", () => {
  const promises = rows.map(([, promise = ""]) => promise);
  expect(promises.length).toBeGreaterThanOrEqual(30);
  expect(new Set(promises).size).toBe(promises.length);
});

test("each promise names test files that exist, and nothing else", () => {
  const wrong = rows.flatMap(([, promise = "", shown = ""]) => {
    const files = shown.split(", ").map((name) => /^`([\w./-]+\.test\.ts)`$/.exec(name)?.[1] ?? "");
    return files.filter((file) => !holdsATest(file)).map((file) => `${promise} ${file} (of ${shown})`);
  });
  expect(wrong).toEqual([]);
});
