// Makes the context of a running command: configuration, log, traces, progress and output. Also says how old a copy is from which a command
// reads. Loads large modules on first use.
import type { Config } from "../core/config/config.ts";
import { DuckmirrorError, EXIT } from "../core/errors.ts";
import { ExactNumber } from "../core/json.ts";
import type { Logger } from "../core/log.ts";
import { formatDuration } from "../core/text/units.ts";
import { isoTime } from "../core/time.ts";
import { noTracer } from "../core/tracing.ts";
import type { Traces } from "../telemetry/traces.ts";
import { wantedTraces } from "../telemetry/wanted.ts";
import type { CliDeps, CommandContext, CommandEntry, SharedOptions } from "./command.ts";
import { asProblem, withError, writeProblem } from "./problem.ts";
import type { LiveArea } from "./terminal/progress.ts";

// Traces of a command. OpenTelemetry is loaded only if the environment asks for it.

const NOTHING: Traces = { tracer: noTracer, close: async () => true };

/** The configured tracer; an unusable configuration is logged. */
const tracerFor = async (
  { env, version, clock, scrubber }: CliDeps,
  traceparent: string | null,
  openLog: () => Promise<Logger>,
): Promise<Traces> => {
  const wanted = wantedTraces(env);
  if (wanted.kind === "no") return NOTHING;
  const log = await openLog();
  if (wanted.kind === "unknown") {
    log.warn(`nothing is traced: ${wanted.why}`);
    return NOTHING;
  }
  const { startTraces } = await import("../telemetry/traces.ts");
  const { protocol, collector } = wanted;
  const warn = (text: string) => log.warn(text);
  return startTraces({ protocol, collector, version, clock, scrubber, traceparent, warn });
};

const isExactNumber = (value: unknown): value is ExactNumber => value instanceof ExactNumber;
const exactNumbers = {
  test: isExactNumber,
  stringify: (value: unknown) => (isExactNumber(value) ? value.literal : "null"),
};

/** JSON of any value; numbers keep every digit. */
const exactJson = async (value: unknown): Promise<string> => {
  const { stringify } = await import("lossless-json");
  return stringify(value, undefined, undefined, [exactNumbers]) ?? "null";
};

const printResult = async (
  { shared, terminal, scrubber, printJson, printProblem }: CommandContext,
  json: object,
  text: () => string,
  error: DuckmirrorError | null,
): Promise<number> => {
  if (shared.json) await printJson(withError(json, error, scrubber));
  else {
    const shown = text();
    await terminal.out(shown === "" || shown.endsWith("\n") ? shown : `${shown}\n`);
  }
  return error === null ? EXIT.done : printProblem(error);
};

/** The context of one command; call `close` when the command is done. */
export const contextFor = (
  deps: CliDeps,
  shared: SharedOptions,
  commands: readonly CommandEntry[],
): CommandContext & { close(): Promise<void> } => {
  const { terminal, scrubber, clock } = deps;
  let live: LiveArea | null = null;
  let traces: Promise<Traces> | null = null;
  const writeLine = (text: string) => (live === null ? terminal.err(text) : live.above(text));
  const context: CommandContext & { close(): Promise<void> } = {
    ...deps,
    shared,
    commands,
    async loadConfig(flags = {}) {
      const { loadSettings } = await import("./load-settings.ts");
      return loadSettings(flags, shared, deps);
    },
    async loadProfiles() {
      const { loadProfileSettings } = await import("./load-settings.ts");
      return loadProfileSettings(shared, deps);
    },
    async logger(config) {
      const { createLogger } = await import("../core/log.ts");
      const colour = terminal.errColours.isColorSupported;
      const { logLevel: level, logFormat: format } = config;
      return createLogger({ level, format, colour, scrubber, target: { write: writeLine } });
    },
    async withProgress(config, work) {
      const { createLiveArea, createLiveProgress, loggedProgress } = await import("./terminal/progress.ts");
      if (!terminal.isTty.err || shared.quiet || config.logFormat === "json") {
        return work(loggedProgress(await context.logger(config), clock, config.logFormat));
      }
      live = createLiveArea(terminal.errStream);
      const view = { columns: () => terminal.errColumns, colours: terminal.errColours };
      const { sink, end } = createLiveProgress(live, clock, view);
      return work(sink).finally(() => {
        end();
        live = null;
      });
    },
    tracer: async (config, traceparent = deps.env.TRACEPARENT ?? null) => {
      traces ??= tracerFor(deps, traceparent, () => context.logger(config));
      return (await traces).tracer;
    },
    close: async () => {
      if (traces !== null && !(await (await traces).close())) deps.onHeld?.();
    },
    hint: (text) => {
      if (!shared.quiet && !shared.json) terminal.err(`${text}\n`);
    },
    printJson: async (value) => terminal.out(`${await exactJson(value)}\n`),
    printProblem: (error) => {
      const problem = asProblem(error);
      writeProblem(problem, deps, shared.verbose);
      return problem.exitCode;
    },
    show: (json, text, error = null) => printResult(context, json, text, error),
  };
  return context;
};

/** Throws BASE_URL_MISSING and the errors of the token. */
export const serviceContext = async (
  config: Config,
  { clock, version, scrubber, signal }: Pick<CliDeps, "clock" | "version" | "scrubber" | "signal">,
) => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const { resolveToken } = await import("../core/config/secrets.ts");
  const token = await resolveToken(config);
  scrubber.hide(token);
  return { clock, random: Math.random, signal, version, token };
};

/** Writes the time and age of the copy that is here to stderr; nothing for a mirror without a home. */
export const sayCopy = async (
  { dataDir, home }: Pick<Config, "dataDir" | "home">,
  { clock, shared, terminal }: Pick<CommandContext, "clock" | "shared" | "terminal">,
): Promise<void> => {
  if (home === null || shared.quiet) return;
  // Loaded only here: most mirrors have no home.
  const { readLocalNote } = await import("../deliver/home/mirror-home.ts");
  const at = (await readLocalNote(dataDir))?.at ?? null;
  if (at === null) return;
  const age = formatDuration(Math.max(0, clock.now() - at));
  terminal.err(`this copy has the state of ${isoTime(at)}, ${age} old; another worker may have a later one\n`);
};
