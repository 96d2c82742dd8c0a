import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { COMMAND_GROUPS, COMMANDS } from "../../../src/cli/command-table.ts";
import { EXIT } from "../../../src/core/errors.ts";
import { settingsTable } from "../../support/settings-table.ts";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

test("the README lists every setting as the schema has it", () => {
  for (const line of settingsTable()) expect(readme).toContain(line);
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
