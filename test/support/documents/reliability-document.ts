// docs/RELIABILITY.md with the tests that show each promise: a test names in its first comment the promises that it shows (P12). Pure.
import type { SourceFile } from "../parsed-source.ts";

const ROW = /^\| (P\d+) \| (.*) \| [^|]* \|$/gm;

/** Numbers of promises in the first comment of a file. */
const shownBy = (text: string): readonly string[] => /^(?:\/\/.*\n)+/.exec(text)?.[0].match(/\bP\d+\b/g) ?? [];

/** The document with its last column from the tests. Throws for a promise that no test shows, and for a number that the document lacks. */
export const renderReliability = (document: string, tests: readonly SourceFile[]): string => {
  const shown = new Map<string, string[]>();
  for (const { path, text } of tests)
    for (const promise of path.endsWith(".test.ts") ? shownBy(text) : [])
      shown.set(promise, [...(shown.get(promise) ?? []), `\`${path.replace(/^test\/(src\/)?/, "")}\``]);
  const rendered = document.replace(ROW, (_, promise: string, text: string) => {
    const files = shown.get(promise) ?? [];
    if (files.length === 0) throw new Error(`no test shows ${promise}: ${text}`);
    shown.delete(promise);
    return `| ${promise} | ${text} | ${files.sort().join(", ")} |`;
  });
  if (shown.size > 0) throw new Error(`docs/RELIABILITY.md lacks ${[...shown].join("; ")}`);
  return rendered;
};
