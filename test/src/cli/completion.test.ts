// Shell completion: in a real bash, from the commands as they are.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { COMMANDS } from "../../../src/cli/command-table.ts";
import { aFolder, cli } from "../../support/cli.ts";

const run = promisify(execFile);

/** What bash offers for a line; the last word is the one being typed. */
const offered = async (script: string, ...words: readonly string[]): Promise<readonly string[]> => {
  const file = join(aFolder(), "completion.sh");
  writeFileSync(file, script);
  const line = words.map((word) => `'${word}'`).join(" ");
  const program = `source ${file}; COMP_WORDS=(duckmirror ${line}); COMP_CWORD=${words.length}; _duckmirror; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["--norc", "-c", program]);
  return stdout.split("\n").filter((word) => word !== "");
};

test("bash completes commands, options, their choices, and streams", async () => {
  const { code, out } = await cli(["completion", "bash"]);
  expect(code).toBe(0);
  expect(await offered(out, "")).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)));
  expect(await offered(out, "sy")).toEqual(["sync"]);
  expect(await offered(out, "sync", "--max-")).toEqual(["--max-credits", "--max-duration"]);
  expect(await offered(out, "sync", "")).toEqual(expect.arrayContaining([...STREAM_NAMES, "--full"]));
  expect(await offered(out, "sync", "accounts", "sign")).toEqual(["signals", "signal_counts"]);
  expect(await offered(out, "status", "--log-format", "")).toEqual(["pretty", "json"]);
  expect(await offered(out, "--quiet", "sync", "--fu")).toEqual(["--full"]);
});

test("--json prints the script as a value", async () => {
  const { out } = await cli(["completion", "fish"]);
  const { code, out: json } = await cli(["completion", "fish", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(json)).toEqual({ shell: "fish", script: out });
});

test.each(["zsh", "fish"])("the script for %s names every command", async (shell) => {
  const { code, out } = await cli(["completion", shell]);
  expect(code).toBe(0);
  for (const { name } of COMMANDS) expect(out).toMatch(new RegExp(`\\b${name}\\b`));
});

test("another shell is a usage error that names those there are", async () => {
  const { code, err } = await cli(["completion", "tcsh"]);
  expect([code, err]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
});
