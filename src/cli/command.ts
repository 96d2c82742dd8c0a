// Defines a command: options and examples, a schema for the typed input, and run(input, context). Imports no zod at
// run time, so that `--help` need not load it.
import type { Command } from "commander";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Config, FlagValues } from "../core/config/config.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { Scrubber } from "../core/secret.ts";
import type { Tracer } from "../core/tracing.ts";
import type { Progress } from "./terminal/progress.ts";
import type { Asker, Terminal } from "./terminal/terminal.ts";

/** Dependencies of the program; replaced in tests. */
export interface CliDeps {
  readonly terminal: Terminal;
  readonly ask: Asker;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborts when the user or the system asks the program to stop: finish the page, commit, return. */
  readonly signal: AbortSignal;
  readonly scrubber: Scrubber;
  readonly version: string;
  /** How this program is called here, e.g. `npx duckmirror`, for commands that it suggests. */
  readonly invocation: string;
  /** Called when abandoned work would keep the process alive after the command. */
  readonly onHeld?: () => void;
}

/** Options of every command. */
export interface SharedOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly profile?: string | undefined;
  readonly logFormat?: string | undefined;
}

export interface CommandContext extends CliDeps {
  readonly shared: SharedOptions;
  /** All commands, for commands that describe them. */
  readonly commands: readonly CommandEntry[];
  /** Configuration with this command's flags. Throws CONFIG_INVALID, CONFIG_FILE_UNREADABLE, PROFILE_UNKNOWN. */
  loadConfig(flags?: FlagValues): Promise<Config>;
  /** Configurations of all profiles, or of the one named by --profile. Throws the errors of loadConfig. */
  loadProfiles(): Promise<readonly Config[]>;
  /** The configured log to stderr. Its lines appear above live progress. */
  logger(config: Config): Promise<Logger>;
  /**
   * Shows a run: live lines on a terminal, log lines elsewhere or with log_format json, only problems with --quiet.
   */
  progress(config: Config): Promise<Progress>;
  /**
   * The tracer, if the environment asks for traces (OTEL_*). `traceparent`: parent of the spans; unset: TRACEPARENT.
   * Spans are sent at the end of the command at the latest.
   */
  tracer(config: Config, traceparent?: string | null): Promise<Tracer>;
  /** Writes one JSON value to stdout; integers beyond 2^53 keep every digit. */
  printJson(value: unknown): Promise<void>;
  /** Writes `error CODE: ...` and its hint to stderr, nothing to stdout. Returns the error, UNEXPECTED if it has no code. */
  printProblem(error: unknown): DuckmirrorError;
}

export interface CommandModule {
  configure(command: Command): void;
  /** `typed`: options by their camelCase names, and arguments as `args`. Returns the exit code. */
  execute(typed: Readonly<Record<string, unknown>>, context: CommandContext): Promise<number>;
}

/** The heading of --help under which the command is listed, and the folder of `commands/` that holds it. */
export type CommandGroup = "start" | "mirror" | "ask" | "share" | "operate" | "keep";

/** An entry in the table of commands; the command is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly group: CommandGroup;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: CommandModule }>;
}

/**
 * Makes a command from its parts. `input` validates the typed input; invalid input is a usage error (exit code 2).
 */
export const defineCommand = <Input>(spec: {
  /** Adds the command's own arguments and options; the shared ones exist already. */
  readonly configure: (command: Command) => Command;
  /** Command line → description. */
  readonly examples: Readonly<Record<string, string>>;
  readonly input: z.ZodType<Input>;
  readonly run: (input: Input, context: CommandContext) => Promise<number>;
}): CommandModule => ({
  configure: (command) => {
    const lines = Object.entries(spec.examples).map(([line, meaning]) => `  # ${meaning}\n  ${line}`);
    spec.configure(command).addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
  },
  execute: async (typed, context) => {
    const parsed = spec.input.safeParse(typed);
    if (parsed.success) return spec.run(parsed.data, context);
    const issue = parsed.error.issues[0];
    throw new DuckmirrorError("USAGE", { detail: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}` });
  },
});
