import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { COMMAND_GROUPS, COMMANDS } from "../../../src/cli/command-table.ts";
import { EXIT } from "../../../src/core/errors.ts";
import { settingRows } from "../../support/setting-rows.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const readme = read("README.md");
const settings = read("docs/SETTINGS.md");

const rowsIn = (document: string): readonly string[] =>
  document.split("\n").filter((line) => /^\| `[a-z_]+` \|/.test(line));

test("docs/SETTINGS.md lists every setting once, as the schema has it", () => {
  expect(rowsIn(settings).toSorted()).toEqual(settingRows().toSorted());
});

test("the settings that the README names are as the schema has them", () => {
  const section = readme.slice(readme.indexOf("## Settings"), readme.indexOf("## Files"));
  expect(rowsIn(section).length).toBeGreaterThan(5);
  for (const row of rowsIn(section)) expect(settingRows()).toContain(row);
});

test("the README lists every command, stream, table and exit code", () => {
  for (const { name } of COMMANDS) expect(readme).toContain(`| \`${name}`);
  for (const name of [...STREAM_NAMES, ...TABLE_NAMES]) expect(readme).toContain(`\`${name}\``);
  for (const code of Object.values(EXIT)) expect(readme).toContain(`| ${code} |`);
});

test("the README lists the commands under the headings of --help", () => {
  const table = readme.slice(readme.indexOf("| command | what it does |"), readme.indexOf("Streams: `accounts`"));
  const rows = [...table.matchAll(/^\| (?:\*\*([^*]+)\*\*|`(\w+))/gm)].map(([, heading, name]) => heading ?? name);
  const expected = Object.entries(COMMAND_GROUPS).flatMap(([key, heading]) => [
    heading,
    ...COMMANDS.filter(({ group }) => group === key).map(({ name }) => name),
  ]);
  expect(rows).toEqual(expected);
});

test("no placeholder was left in the README", () => {
  expect(readme).not.toContain("@@");
});
