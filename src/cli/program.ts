// Runs the command named in the arguments, and converts its errors to exit codes.
import { Command, CommanderError } from "commander";
import { DuckmirrorError, EXIT } from "../core/errors.ts";
import { system } from "../core/system.ts";
import { didYouMean } from "../core/text/did-you-mean.ts";
import type { CliDeps, CommandModule, SharedOptions } from "./command.ts";
import { COMMAND_GROUPS, COMMANDS } from "./command-table.ts";
import { addShared } from "./completion.ts";
import { contextFor } from "./context.ts";
import { asProblem, problemJson, writeProblem } from "./problem.ts";

// An option that took the next option for its value: `--data-dir $DIR --json` with an empty variable would work in a
// folder named "--json".

/** Throws USAGE if the value of an option is another option of the command. */
export const refuseMissingValues = (command: Command): void => {
  const flags = new Set(
    command.options.flatMap(({ long, short }) => [long, short]).filter((flag) => flag !== undefined),
  );
  for (const option of command.options) {
    const typed: unknown = command.getOptionValue(option.attributeName());
    const swallowed = [typed].flat().find((value) => typeof value === "string" && flags.has(value));
    if (!option.required || swallowed === undefined) continue;
    const detail = `option '${option.flags}' needs a value; ${String(swallowed)} is an option`;
    throw new DuckmirrorError("USAGE", { detail });
  }
};

/** Shared options with a value, so that the value is not read as the command. */
const VALUE_OPTIONS = ["--config", "--data-dir", "--profile", "--log-format"];

const VERSION_WORDS = ["--version", "-V", "--json"];

/** Options may come before the command's name: the name moves to the front. `help x` means `x --help`. */
const commandFirst = (argv: readonly string[]): readonly string[] => {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (VALUE_OPTIONS.includes(word)) at += 1;
    else if (word === "help") return [...argv.slice(at + 1, at + 2), "--help"];
    else if (!word.startsWith("-")) return [word, ...argv.slice(0, at), ...argv.slice(at + 1)];
  }
  return argv;
};

/**
 * SQL that begins with a comment (`-- ...`) looks like an option, although the name of an option holds no space. A space
 * before it makes it an argument.
 */
const withoutComments = (argv: readonly string[]): readonly string[] =>
  argv.map((word) => (/^--[^=\s]*\s/.test(word) ? ` ${word}` : word));

const buildProgram = (deps: CliDeps, help: string[]): Command =>
  new Command("duckmirror")
    .description("Mirrors the Account Intelligence Read API into a local DuckDB warehouse.")
    .version(deps.version, "-V, --version", "print the version")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void help.push(text),
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(deps.terminal.columns, 110),
      getOutHasColors: () => false,
    })
    .addHelpText(
      "after",
      "\nStart here:\n  duckmirror demo             try it: a generated service, mirrored, with a tour\n" +
        "  duckmirror init             configure address and token\n" +
        "  duckmirror <command> --help options and examples of a command",
    );

const isText = (value: unknown): value is string => typeof value === "string";

const sharedOf = (typed: Readonly<Record<string, unknown>>): SharedOptions => ({
  json: typed.json === true,
  quiet: typed.quiet === true,
  verbose: typed.verbose === true,
  config: isText(typed.config) ? typed.config : undefined,
  dataDir: isText(typed.dataDir) ? typed.dataDir : undefined,
  profile: isText(typed.profile) ? typed.profile : undefined,
  logFormat: isText(typed.logFormat) ? typed.logFormat : undefined,
});

const finished = (error: unknown): boolean => error instanceof CommanderError && error.exitCode === 0;

/** Parses the arguments and runs the named command. */
const dispatch = async (argv: readonly string[], deps: CliDeps): Promise<number> => {
  const words = commandFirst(withoutComments(argv));
  const name = words[0] !== undefined && !words[0].startsWith("-") ? words[0] : null;
  const entry = COMMANDS.find((command) => command.name === name);
  const names = COMMANDS.map((command) => command.name);
  if (name !== null && !entry) {
    throw new DuckmirrorError("USAGE", { detail: `unknown command '${name}'.${didYouMean(name, names)}` });
  }
  const help: string[] = [];
  const program = buildProgram(deps, help);
  const module: CommandModule | null = entry ? (await entry.load()).command : null;
  for (const { name: other, group, summary } of COMMANDS) {
    const command = addShared(program.command(other)).summary(summary).description(`${summary}.`);
    command.helpGroup(`${COMMAND_GROUPS[group]}:`);
    command.copyInheritedSettings(program);
    if (module && other === name) module.configure(command);
  }
  let run: (() => Promise<number>) | null = null;
  for (const command of program.commands) {
    command.action(() => {
      refuseMissingValues(command);
      const typed = { ...command.opts(), args: command.args };
      run = async () => {
        const context = contextFor(deps, sharedOf(typed), COMMANDS);
        return module ? module.execute(typed, context).finally(() => context.close()) : EXIT.usage;
      };
    });
  }
  try {
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    if (!finished(error)) throw error;
    await deps.terminal.out(help.join(""));
    return EXIT.done;
  }
  return run === null ? EXIT.usage : await started(run);
};

// A separate function, so that the type of `run` is that of the assignment inside the callback.
const started = (run: () => Promise<number>) => run();

/** For bug reports and upgrades. `schema`: number of the last migration; a mirror with a higher one was made by a newer program. */
const versions = async (version: string) => {
  const { duckdbVersion } = await import("../warehouse/duckdb/instance.ts");
  const { readMigrations } = await import("../warehouse/duckdb/sql-files.ts");
  const [schema, duckdb] = [readMigrations().length, duckdbVersion()];
  return { version, schema, duckdb, node: process.versions.node, platform: `${system.platform}-${process.arch}` };
};

/** Runs the program; `argv`: arguments without node and script. Returns the exit code; throws nothing. */
export const runCli = async (argv: readonly string[], deps: CliDeps): Promise<number> => {
  const { terminal, scrubber, signal } = deps;
  try {
    if (argv.length === 0) {
      const { greet } = await import("./commands/start/greet.ts");
      return await greet(contextFor(deps, sharedOf({}), COMMANDS));
    }
    if (argv.includes("--json") && argv.every((word) => VERSION_WORDS.includes(word))) {
      await terminal.out(`${JSON.stringify(await versions(deps.version))}\n`);
      return EXIT.done;
    }
    return await dispatch(argv, deps);
  } catch (error) {
    const problem =
      signal.aborted && !(error instanceof DuckmirrorError) ? new DuckmirrorError("INTERRUPTED") : asProblem(error);
    if (argv.includes("--json")) await terminal.out(`${JSON.stringify(problemJson(problem, scrubber))}\n`);
    writeProblem(problem, deps, argv.includes("--verbose") || argv.includes("-v"));
    return problem.exitCode;
  }
};
