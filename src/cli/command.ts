// What a command is: its options and examples, a schema for what was typed, and run(input, context).
// Imports no zod at run time: `--help` of the program must not wait for it.
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

/** What the program is given from outside; replaced in tests. */
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
  /** Told when something that was given up would keep the process alive once the command is done. */
  readonly onHeld?: () => void;
}

/** Options every command has. */
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
  /** All commands, for those that tell about them. */
  readonly commands: readonly CommandEntry[];
  /** Configuration with this command's flags on top. Throws CONFIG_INVALID, CONFIG_FILE_UNREADABLE, PROFILE_UNKNOWN. */
  loadConfig(flags?: FlagValues): Promise<Config>;
  /** Those of every profile, or of the one that --profile names. Throws like loadConfig. */
  loadProfiles(): Promise<readonly Config[]>;
  /** The log to stderr, as the configuration wants it. Lines stand above live progress. */
  logger(config: Config): Promise<Logger>;
  /** Shows a run: live lines on a terminal, log lines elsewhere or with log_format json, only problems with --quiet. */
  progress(config: Config): Promise<Progress>;
  /**
   * Traces where the environment asks for them (OTEL_*). `traceparent`: what the spans belong to; unset: what
   * TRACEPARENT names. Sent when the command is done, at the latest.
   */
  tracer(config: Config, traceparent?: string | null): Promise<Tracer>;
  /** Writes one JSON value to stdout; integers beyond 2^53 keep every digit. */
  printJson(value: unknown): Promise<void>;
  /** Writes `error CODE: ...` and its hint to stderr, nothing to stdout. */
  printProblem(error: unknown): DuckmirrorError;
}

export interface CommandModule {
  configure(command: Command): void;
  /** `typed`: the options by their camelCase names, and the arguments as `args`. Answers with the exit code. */
  execute(typed: Readonly<Record<string, unknown>>, context: CommandContext): Promise<number>;
}

/** A command in the table of them all: loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: CommandModule }>;
}

/** A command from its parts. `input` parses what was typed; what it refuses is a usage error (exit code 2). */
export const defineCommand = <Input>(spec: {
  /** Adds arguments and options of its own; the shared ones are there already. */
  readonly configure: (command: Command) => Command;
  /** Command line → what it does. */
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
