// Traces of a command. OpenTelemetry is loaded only if the environment asks for it.
import type { Logger } from "../core/log.ts";
import { noTracer, type Tracer } from "../core/tracing.ts";
import { wantedTraces } from "../telemetry/wanted.ts";
import type { CliDeps } from "./command.ts";

export interface RunningTracer {
  readonly tracer: Tracer;
  /** Sends remaining spans within a short time limit; false: sending is unfinished. */
  close(): Promise<boolean>;
}

const NOTHING: RunningTracer = { tracer: noTracer, close: async () => true };

/** The configured tracer; an unusable configuration is logged. */
export const tracerFor = async (
  { env, version, clock, scrubber }: CliDeps,
  traceparent: string | null,
  openLog: () => Promise<Logger>,
): Promise<RunningTracer> => {
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
