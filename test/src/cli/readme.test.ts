// README and reference pages name what the program has, their links lead somewhere, and every command line in them is one that
// the program takes.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { COMMAND_GROUPS, COMMANDS } from "../../../src/cli/command-table.ts";
import { addShared } from "../../../src/cli/completion.ts";
import { EXIT } from "../../../src/core/errors.ts";
import { settingRows } from "../../support/setting-rows.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const settings = read("docs/SETTINGS.md");
const commands = read("docs/COMMANDS.md");

const rowsIn = (document: string): readonly string[] =>
  document.split("\n").filter((line) => /^\| `[a-z_]+` \|/.test(line));

test("docs/SETTINGS.md lists every setting once, as the schema has it", () => {
  expect(rowsIn(settings).toSorted()).toEqual(settingRows().toSorted());
});

test("docs/COMMANDS.md lists every command, stream and exit code", () => {
  for (const { name } of COMMANDS) expect(commands).toContain(`| \`${name}`);
  for (const name of STREAM_NAMES) expect(commands).toContain(`\`${name}\``);
  for (const code of Object.values(EXIT)) expect(commands).toContain(`| ${code} |`);
});

test("docs/COMMANDS.md lists the commands under the headings of --help", () => {
  const table = commands.slice(commands.indexOf("| command | what it does |"), commands.indexOf("Streams: `accounts`"));
  const rows = [...table.matchAll(/^\| (?:\*\*([^*]+)\*\*|`([\w-]+))/gm)].map(([, heading, name]) => heading ?? name);
  const expected = Object.entries(COMMAND_GROUPS).flatMap(([key, heading]) => [
    heading,
    ...COMMANDS.filter(({ group }) => group === key).map(({ name }) => name),
  ]);
  expect(rows).toEqual(expected);
});

test("the README has at most 1,300 words", () => {
  expect(readme.split(/\s+/).length).toBeLessThanOrEqual(1300);
});

const pages = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** Anchors of a page's headings, as code hosts make them. */
const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

test("every link between pages leads to a file, and to a heading of it", () => {
  const broken = pages.flatMap((page) => {
    const text = read(page).replace(/^```[\s\S]*?^```/gm, "");
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return [`${page}: ${link}`];
      if (anchor === undefined || !target.endsWith(".md")) return [];
      return anchorsOf(read(target)).includes(anchor) ? [] : [`${page}: ${link}`];
    });
  });
  expect(broken).toEqual([]);
});

// Command lines.

interface Snippet {
  readonly page: string;
  readonly line: string;
}

const CALL = /^(?:\$ )?(?:\w+=\S+ )*(?:npx )?duckmirror (\S(?:"[^"]*"|'[^']*'|[^"'\n])*)$/gm;

/** Calls of duckmirror in code blocks, with lines that a backslash or an open quote continues, and in code within the text. */
const snippetsOf = (page: string): readonly Snippet[] => {
  const text = read(page);
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
  const snippets = pages.filter((page) => !["CONTRIBUTING.md", "CHANGELOG.md"].includes(page)).flatMap(snippetsOf);
  expect(snippets.length).toBeGreaterThan(100);
  const complaints = await Promise.all(snippets.map(async (one) => ({ ...one, complaint: await complaintOf(one) })));
  expect(complaints.filter(({ complaint }) => complaint !== null)).toEqual([]);
});
