// Every command line in the documents is one that the program takes: the command exists, with these options.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../src/cli/command-table.ts";
import { addShared } from "../../../src/cli/completion.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const pages = [
  ...["README.md", "SECURITY.md"],
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

interface Snippet {
  readonly page: string;
  readonly line: string;
}

const CALL = /^(?:\$ )?(?:\w+=\S+ )*(?:npx )?duckmirror (\S(?:"[^"]*"|'[^']*'|[^"'\n])*)$/gm;

/** Calls of duckmirror in code blocks, with lines that a backslash or an open quote continues, and in code within the text. */
const snippetsOf = (page: string): readonly Snippet[] => {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```[\w ]*\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
  const within = [...text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/`(duckmirror [^`\n]+)`/g)].map(
    ([, code = ""]) => code,
  );
  return (
    [...blocks, ...within]
      .flatMap((code) => [
        ...code
          .replaceAll("\\\n", " ")
          .replaceAll(/\s+# .*$/gm, "")
          .matchAll(CALL),
      ])
      // A synopsis is no call.
      .flatMap(([, line = ""]) => (line.includes("[") ? [] : [{ page, line }]))
  );
};

/** Words as a shell sees them, up to a pipe, a redirection, a second command or a comment. */
const wordsOf = (line: string): readonly string[] => {
  const words = [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);
  const end = words.findIndex((word) => /^(?:[|&;#>]|\d?>)/.test(word));
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll(/["']/g, "").replace(/;$/, ""));
};

/** What the program says against a command line; null: nothing. */
const complaintOf = async ({ line }: Snippet): Promise<string | null> => {
  const [name = "", ...argv] = wordsOf(line);
  if (name.startsWith("-")) return null;
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry === undefined) return `there is no command ${name}`;
  const command = addShared(new Command(name))
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} });
  (await entry.load()).command.configure(command);
  try {
    command.action(() => undefined).parse(argv, { from: "user" });
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Within a sentence a command is often named without its argument.
    return /outputHelp|missing required argument/.test(message) ? null : message;
  }
};

test("every command line in the documents names a command and options that exist", async () => {
  const snippets = pages.flatMap(snippetsOf);
  expect(snippets.length).toBeGreaterThan(100);
  const complaints = await Promise.all(snippets.map(async (one) => ({ ...one, complaint: await complaintOf(one) })));
  expect(complaints.filter(({ complaint }) => complaint !== null)).toEqual([]);
});
