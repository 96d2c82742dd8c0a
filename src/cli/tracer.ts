// Traces of a command: nothing of OpenTelemetry is loaded unless the environment asks for it.
import type { Logger } from "../core/log.ts";
import { noTracer, type Tracer } from "../core/tracing.ts";
import { wantedTraces } from "../telemetry/wanted.ts";
import type { CliDeps } from "./command.ts";

export interface RunningTracer {
  readonly tracer: Tracer;
  /** Sends what is left, for a moment at most; false: something is still under way. */
  close(): Promise<boolean>;
}

const NOTHING: RunningTracer = { tracer: noTracer, close: async () => true };

/** What the environment asks for; the log is told when that cannot be done. */
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
