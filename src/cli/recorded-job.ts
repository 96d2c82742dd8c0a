// Runs a job on the service for a command: token, progress, traces, limits shared over Redis, lines in the audit trail.
import { setFlagsFromString } from "node:v8";
import { COMMAND_GRACE_MS, type JobContext } from "../../jobs/engine.ts";
import type { OpenAccess } from "../../jobs/service-access.ts";
import type { Config } from "../core/config/config.ts";
import type { DuckmirrorError } from "../core/errors.ts";
import { audited } from "./audited.ts";
import type { CommandContext } from "./command.ts";
import { serviceContext } from "./context.ts";

// Lets commands beside a worker use the rate and credits that all processes share through Redis.

/**
 * Runs `work` with the configured connection: shared limits with `redis_url`, else none. Throws REDIS_UNAVAILABLE and
 * the other refusals of Redis; warnings go to stderr unless --quiet.
 */
export const withSharedLimits = async <T>(
  config: Config,
  { shared, terminal, signal }: CommandContext,
  work: (limits: { readonly connect?: OpenAccess }) => Promise<T>,
): Promise<T> => {
  if (config.redisUrl === null) return work({});
  const { openCommandConnection } = await import("../queue/redis/queue-connections.ts");
  const { sharedAccess } = await import("../queue/worker/shared-access.ts");
  const warn = (text: string) => void (shared.quiet || terminal.err(`warning: ${text}\n`));
  const connection = await openCommandConnection(config.redisUrl, warn, signal);
  try {
    return await work({ connect: sharedAccess(connection) });
  } finally {
    await connection.close();
  }
};

// Makes V8 optimize fewer functions in a command that ends within minutes. In a sync of 600 requests its optimizing
// compiler took a fifth of all processor time, more than the faster code saved.

/**
 * The flags that delay optimizing to thirty times V8's default: of JavaScript, and of undici's parser of HTTP, which is WebAssembly and
 * took 80 ms after a few responses. `v8`: version of V8, which has had another name for the first, and another default of the second,
 * since 12. V8 writes a line to standard error for a name that it does not know.
 */
export const compilerFlags = (v8: string): readonly string[] =>
  Number.parseInt(v8, 10) < 12
    ? ["--interrupt-budget=2000000", "--wasm-tiering-budget=54000000"]
    : ["--invocation-count-for-turbofan=90000", "--wasm-tiering-budget=390000000"];

/** Affects the whole process, so it is not for programs that run on: their hot code is worth optimizing. */
const compileLess = (): void => {
  for (const flag of compilerFlags(process.versions.v8)) setFlagsFromString(flag);
};

interface JobEnd {
  readonly report: { readonly run_id: string };
  readonly error: DuckmirrorError | null;
}

/** Does `job` on `streams` (none: all). Throws BASE_URL_MISSING, AUDIT_UNWRITABLE, errors of the token and of `job`. */
export const recordedJob = async <T extends JobEnd>(
  config: Config,
  context: CommandContext,
  { action, streams }: { readonly action: "sync" | "verify"; readonly streams: readonly string[] },
  job: (context: JobContext) => Promise<T>,
): Promise<T> => {
  compileLess();
  const service = await serviceContext(config, context);
  return context.withProgress(config, async (emit) => {
    const tracer = await context.tracer(config);
    const engine = { ...service, emit, tracer, graceMs: COMMAND_GRACE_MS };
    return audited(
      config,
      context,
      { action, subject: streams.join(",") || null },
      () => withSharedLimits(config, context, (limits) => job({ ...limits, ...engine })),
      ({ report, error }) => ({ runId: report.run_id, outcome: error?.code ?? "ok" }),
    );
  });
};
