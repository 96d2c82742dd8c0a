// README and reference pages name what the program has, and their links lead somewhere.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { COMMAND_GROUPS, COMMANDS } from "../../../src/cli/command-table.ts";
import { EXIT } from "../../../src/core/errors.ts";
import { settingRows } from "../../support/setting-rows.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
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

const root = fileURLToPath(new URL("../../../", import.meta.url));
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
    const text = readFileSync(join(root, page), "utf8").replace(/^```[\s\S]*?^```/gm, "");
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return [`${page}: ${link}`];
      if (anchor === undefined || !target.endsWith(".md")) return [];
      return anchorsOf(readFileSync(join(root, target), "utf8")).includes(anchor) ? [] : [`${page}: ${link}`];
    });
  });
  expect(broken).toEqual([]);
});
