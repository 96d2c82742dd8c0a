// The program without a command's work: help, usage errors, completion, and the compile cache.

import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { STREAM_NAMES } from "../../../src/catalog/streams.ts";
import { durationOf, wholeOf } from "../../../src/cli/command.ts";
import { COMMAND_GROUPS, COMMANDS } from "../../../src/cli/command-table.ts";
import { refuseMissingValues } from "../../../src/cli/program.ts";
import { compilerFlags } from "../../../src/cli/recorded-job.ts";
import { readMigrations } from "../../../src/warehouse/duckdb/sql-files.ts";
import { aFolder, cli } from "../../support/cli.ts";

// An option that swallowed the next one.

const parsed = (...argv: string[]) => {
  const command = new Command()
    .option("--data-dir <dir>")
    .option("--table <name...>")
    .option("--color [when]")
    .option("-j, --json");
  command.exitOverride().parse(argv, { from: "user" });
  refuseMissingValues(command);
  return command.opts();
};

test("a value that only looks like an option is one, and an option may go without a value where it need have none", () => {
  expect(parsed("--data-dir", "--other")).toEqual({ dataDir: "--other" });
  expect(parsed("--color", "--json")).toEqual({ color: true, json: true });
  expect(parsed("--color=--json")).toEqual({ color: "--json" });
  expect(parsed("--data-dir", "json")).toEqual({ dataDir: "json" });
  expect(() => parsed("--data-dir", "-j")).toThrow("-j is an option");
  expect(() => parsed("--table", "a", "--table", "--json")).toThrow("--json is an option");
});

describe("help", () => {
  test("names every command and where to begin on stdout, and ends with 0", async () => {
    const { code, out, err } = await cli(["--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("Start here:");
    for (const { name, summary } of COMMANDS)
      expect(out).toMatch(new RegExp(`^ +${name} .*${summary.slice(0, 20)}`, "m"));
  });

  test("lists the commands under what a user wants, in the order of the folders that hold them", async () => {
    const { out } = await cli(["--help"]);
    const headings = Object.values(COMMAND_GROUPS).map((heading) => `${heading}:`);
    const lines = out.split("\n");
    expect(lines.filter((line) => headings.includes(line))).toEqual(headings);
    let heading = "";
    const shown = lines.flatMap((line) => {
      if (/^\S.*:$/.test(line)) heading = line;
      const name = /^ {2}([\w-]+) \[options\]/.exec(line)?.[1];
      return name === undefined ? [] : [[name, heading]];
    });
    expect(shown).toEqual(COMMANDS.map(({ name, group }) => [name, `${COMMAND_GROUPS[group]}:`]));
    for (const { name, group } of COMMANDS)
      expect(existsSync(new URL(`../../../src/cli/commands/${group}/${name}.ts`, import.meta.url)), name).toBe(true);
  });

  test.each(COMMANDS.map(({ name }) => name))("of %s shows the shared options and examples", async (name) => {
    const { code, out } = await cli([name, "--help"]);
    expect(code).toBe(0);
    for (const word of ["--json", "--config <file>", "--data-dir <dir>", "Examples:", `  duckmirror ${name}`]) {
      expect(out).toContain(word);
    }
  });

  test.each(["sync", "plan", "verify", "trigger"])("of %s names every stream", async (name) => {
    const { out } = await cli([name, "--help"], { columns: 80 });
    for (const stream of STREAM_NAMES) expect(out).toMatch(new RegExp(`\\b${stream}\\b`));
  });

  test("`help init` is `init --help`", async () => {
    expect(await cli(["help", "init"])).toEqual(await cli(["init", "--help"]));
  });

  test("--version prints the version", async () => {
    expect(await cli(["--version"])).toEqual({ code: 0, out: "1.2.3\n", err: "" });
  });
});

test("--version --json names schema, DuckDB and Node, too", async () => {
  const { code, out } = await cli(["--version", "--json"]);
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      version: "1.2.3",
      schema: readMigrations().length,
      duckdb: expect.stringMatching(/^v1\.5\./),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    },
  ]);
});

describe("what is typed wrong", () => {
  test("an unknown command suggests the one that was meant", async () => {
    const { code, out, err } = await cli(["innit"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^error USAGE: unknown command 'innit'\. Did you mean init\?\nhint: /);
  });

  test.each(["sync", "plan", "verify"])(
    "a stream that %s does not know suggests the one that was meant",
    async (name) => {
      const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token" };
      const run = await cli([name, "acounts"], { env, cwd: aFolder() });
      expect([run.code, run.out]).toEqual([2, ""]);
      expect(run.err).toContain("acounts is not a stream (accounts, contacts,");
      expect(run.err).toContain("Did you mean accounts?");
    },
  );

  test.each([
    ["sync", ""],
    ["sync", " , "],
    ["plan", ""],
    ["verify", ""],
    ["trigger", ""],
    ["forget", "", "--yes"],
    ["forget", "  ", "--yes"],
    ["forget", "p_1", "", "--yes"],
  ])("%s with an empty argument, as of a script's empty variable, does nothing", async (...argv) => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9", DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_DATA_DIR: cwd };
    const run = await cli(argv, { env, cwd });
    expect([run.code, run.out]).toEqual([2, ""]);
    expect(run.err).toMatch(/^error USAGE: .*empty/);
  });

  test("an unknown option suggests the one that was meant", async () => {
    const { code, err } = await cli(["init", "--forse"]);
    expect(code).toBe(2);
    expect(err).toContain("unknown option '--forse' (Did you mean --force?)");
  });

  test.each([[["init", "--log-format", "xml"]], [["init", "--config"]], [["init", "surplus"]]])(
    "a wrong choice, a missing value and a surplus argument are usage errors: %j",
    async (argv) => {
      const { code, err } = await cli(argv);
      expect([code, err]).toEqual([2, expect.stringMatching(/^error USAGE: /)]);
    },
  );

  test("an option is not taken for the value of the option before it, as where a variable is empty", async () => {
    const cwd = aFolder();
    for (const argv of [
      ["status", "--data-dir", "--json"],
      ["jobs", "--cancel", "--json"],
      ["init", "--config", "--yes"],
    ]) {
      const { code, err } = await cli(argv, { cwd });
      expect([code, err]).toEqual([2, expect.stringContaining(`needs a value; ${argv[2]} is an option`)]);
    }
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("with --json the failure is an object on stdout as well", async () => {
    const { code, out, err } = await cli(["init", "--json", "--nope"]);
    expect(code).toBe(2);
    expect(JSON.parse(out)).toEqual({
      error: { code: "USAGE", message: expect.stringContaining("--nope"), hint: expect.stringContaining("--help") },
    });
    expect(err).toContain("error USAGE:");
  });
});

test("options may stand before the command as well as behind it, and their values are not taken for it", async () => {
  const cwd = aFolder();
  const { code, out } = await cli(["--config", "sync", "--json", "init", "--yes"], { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ file: `${cwd}/sync` });
});

// Values of options.

test("a duration of an option has a least value, which some options set to zero", () => {
  expect(durationOf("--timeout", undefined, "90s")).toBeNull();
  expect(durationOf("--timeout", "90s", "90s")).toBe(90_000);
  expect(durationOf("--max-age", "0s", "12h", 0)).toBe(0);
  for (const text of ["0s", "90", "soon"])
    expect(() => durationOf("--timeout", text, "90s")).toThrow(`--timeout: "${text}" is not a duration like 90s`);
});

test("a number of an option is whole and within its range, which the refusal names", () => {
  expect([wholeOf("--limit", "20", 1, 100), wholeOf("--after", "0", 0)]).toEqual([20, 0]);
  expect(() => wholeOf("--limit", "101", 1, 100)).toThrow('--limit: "101" is not a whole number from 1 to 100');
  expect(() => wholeOf("--after", "-1", 0)).toThrow('--after: "-1" is not a whole number from 0 on');
});

test("advice is for people: with --quiet or --json there is none", async () => {
  const [shown, ...silent] = await Promise.all(
    [[], ["--quiet"], ["--json"]].map((more) => cli(["follow", "acme.com", ...more], { cwd: aFolder() })),
  );
  expect(shown?.err).toContain("sync");
  expect(silent.map(({ err }) => err)).toEqual(["", ""]);
});

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

test("the scripts for zsh and fish name every command; another shell is a usage error that names those there are", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { code, out } = await cli(["completion", shell]);
    expect(code).toBe(0);
    for (const { name } of COMMANDS) expect(out).toMatch(new RegExp(`\\b${name}\\b`));
  }
  const { code, err } = await cli(["completion", "tcsh"]);
  expect([code, err]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
});

const complaint = (flags: readonly string[]): string => {
  const code = flags.map((flag) => `require("node:v8").setFlagsFromString("${flag}");`).join("");
  return spawnSync(process.execPath, ["-e", code], { encoding: "utf8" }).stderr;
};

test("this V8 knows the flags, and complains about the name of other versions", () => {
  expect(complaint(compilerFlags(process.versions.v8))).toBe("");
  const [other = ""] = compilerFlags(Number.parseInt(process.versions.v8, 10) < 12 ? "12.4.254" : "11.3.244");
  expect(complaint([other])).toContain(`unrecognized flag ${other}`);
});

test("V8 from 12 on has another name for the first", () => {
  expect(compilerFlags("11.3.244.8-node.33")[0]).toMatch(/^--interrupt-budget=\d+$/);
  expect(compilerFlags("12.4.254.21-node.33")[0]).toMatch(/^--invocation-count-for-turbofan=\d+$/);
  expect(compilerFlags("14.6.202.34-node.34")[0]).toMatch(/^--invocation-count-for-turbofan=\d+$/);
});
