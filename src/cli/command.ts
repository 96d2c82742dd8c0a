// Defines a command: arguments, options, examples, and run(input, context). Loaded with a command: the list of commands
// needs its types only.
import { type Command, Option } from "commander";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Config, FlagValues } from "../core/config/config.ts";
import { whole } from "../core/config/setting-parsers.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { ProgressSink } from "../core/report/sync-progress.ts";
import type { Scrubber } from "../core/secret.ts";
import { parseDuration } from "../core/text/units.ts";
import type { Tracer } from "../core/tracing.ts";
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

/** Configurations of profiles; the first one's settings are those of the process. */
export type Profiles = readonly [Config, ...Config[]];

export interface CommandContext extends CliDeps {
  readonly shared: SharedOptions;
  /** All commands, for commands that describe them. */
  readonly commands: readonly CommandEntry[];
  /** Configuration with this command's flags. Throws CONFIG_INVALID, CONFIG_FILE_UNREADABLE, PROFILE_UNKNOWN. */
  loadConfig(flags?: FlagValues): Promise<Config>;
  /** Configurations of all profiles, or of the one named by --profile. Throws the errors of loadConfig. */
  loadProfiles(): Promise<Profiles>;
  /** The configured log to stderr. Its lines appear above live progress. */
  logger(config: Config): Promise<Logger>;
  /**
   * Shows the run of `work`: live lines on a terminal, log lines elsewhere or with log_format json, only problems with
   * --quiet.
   */
  withProgress<T>(config: Config, work: (emit: ProgressSink) => Promise<T>): Promise<T>;
  /**
   * The tracer, if the environment asks for traces (OTEL_*). `traceparent`: parent of the spans; unset: TRACEPARENT.
   * Spans are sent at the end of the command at the latest.
   */
  tracer(config: Config, traceparent?: string | null): Promise<Tracer>;
  /** Writes advice for people to stderr, unless --quiet or --json. */
  hint(text: string): void;
  /** Writes one JSON value to stdout; integers beyond 2^53 keep every digit. */
  printJson(value: unknown): Promise<void>;
  /** Writes `error CODE: ...` and its hint to stderr, nothing to stdout. Returns the exit code. */
  printProblem(error: unknown): number;
  /**
   * Prints a result: its JSON with --json, else its text, with a final line end. `error`: why it is incomplete; it is printed, too, and
   * decides the exit code, which is returned.
   */
  show(json: object, text: () => string, error?: DuckmirrorError | null): Promise<number>;
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

// Options: members of a command's input, each with its text in --help. The command line is declared from the same schema that checks it.

interface OptionText {
  readonly summary: string;
  /** Name of its value, `<n>`; unset: it takes none. */
  readonly value?: string;
  /** As commander takes it; unset: the member's name, and `value`. */
  readonly flags?: string;
  /** Choices, a default that --help shows, and the like. */
  readonly adapt?: (option: Option) => Option;
}

const optionTexts = new WeakMap<z.core.$ZodType, OptionText>();

/** Makes a member of the input an option. */
export const optionOf = <Schema extends z.ZodType>(schema: Schema, text: OptionText): Schema => {
  optionTexts.set(schema, text);
  return schema;
};

export const flag = (summary: string) => optionOf(z.boolean().default(false), { summary });

export const option = (value: string, summary: string) => optionOf(z.string().optional(), { value, summary });

/** An option that may be repeated. */
export const repeated = (value: string, summary: string) =>
  optionOf(z.array(z.string()).default([]), {
    value,
    summary,
    adapt: (one) => one.argParser((text, all: string[] = []) => [...all, text]),
  });

/** An option with a few possible values. */
export const choice = <const T extends readonly string[]>(value: string, summary: string, choices: T) =>
  optionOf(z.enum(choices).optional(), { value, summary, adapt: (one) => one.choices(choices) });

export const anyArguments = z.array(z.string()).default([]);

export const usage = (detail: string, cause?: unknown): DuckmirrorError =>
  new DuckmirrorError("USAGE", { detail }, { cause });

/** The duration that an option was given, ms; null: unset. `like`: examples for a wrong one. Throws USAGE under `least` ms. */
export const durationOf = (name: string, text: string | undefined, like: string, least = 1): number | null => {
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms !== null && ms >= least) return ms;
  throw usage(`${name}: "${text}" is not a duration like ${like}`);
};

/** The whole number that an option was given. Throws USAGE outside `least` and `most`. */
export const wholeOf = (name: string, text: string, least: number, most = Number.MAX_SAFE_INTEGER): number => {
  const value = whole(text, least, most);
  if (value !== null) return value;
  const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `from ${least} on`;
  throw usage(`${name}: "${text}" is not a whole number ${range}`);
};

/** `"a, b,"` → `["a", "b"]`. */
export const listOf = (text = ""): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

const declared = (name: string, { flags, value, summary, adapt = (one) => one }: OptionText): Option => {
  const long = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return adapt(new Option(flags ?? (value === undefined ? long : `${long} ${value}`), summary));
};

/** Makes a command from its parts. Input that the schema refuses is a usage error (exit code 2). */
export const defineCommand = <Shape extends z.core.$ZodLooseShape>(spec: {
  /** Adds the command's own arguments and texts of --help; the shared options exist already. */
  readonly configure?: (command: Command) => Command;
  /** Command line → description. */
  readonly examples: Readonly<Record<string, string>>;
  /** `args` and the options. */
  readonly input: z.ZodObject<Shape>;
  readonly run: (input: z.output<z.ZodObject<Shape>>, context: CommandContext) => Promise<number>;
}): CommandModule => ({
  configure: (command) => {
    const lines = Object.entries(spec.examples).map(([line, meaning]) => `  # ${meaning}\n  ${line}`);
    spec.configure?.(command);
    for (const [name, schema] of Object.entries(spec.input.shape)) {
      const text = optionTexts.get(schema);
      if (text !== undefined) command.addOption(declared(name, text));
    }
    command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
  },
  execute: async (typed, context) => {
    const parsed = spec.input.safeParse(typed);
    if (parsed.success) return spec.run(parsed.data, context);
    const issue = parsed.error.issues[0];
    throw usage(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  },
});
