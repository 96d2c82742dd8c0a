// Runs a job on the service for a command: token, progress, traces, limits shared over Redis, lines in the audit trail.
import { COMMAND_GRACE_MS, type JobContext } from "../../jobs/engine.ts";
import type { Config } from "../core/config/config.ts";
import { resolveToken } from "../core/config/secrets/token.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { audited } from "./audited.ts";
import type { CommandContext } from "./command.ts";
import { compileLess } from "./compile-less.ts";
import { withSharedLimits } from "./worker/shared-limits.ts";

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
  const { clock, version, scrubber, signal } = context;
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const token = await resolveToken(config);
  scrubber.hide(token);
  const progress = await context.progress(config);
  try {
    const tracer = await context.tracer(config);
    const engine = {
      clock,
      random: Math.random,
      emit: progress.sink,
      signal,
      graceMs: COMMAND_GRACE_MS,
      version,
      token,
      tracer,
    };
    return await audited(
      config,
      context,
      { action, subject: streams.join(",") || null },
      () => withSharedLimits(config, context, (limits) => job({ ...limits, ...engine })),
      ({ report, error }) => ({ runId: report.run_id, outcome: error?.code ?? "ok" }),
    );
  } finally {
    progress.end();
  }
};
