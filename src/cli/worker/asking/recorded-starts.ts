// Requests for syncs with their lines in the audit trail of their profiles. Over HTTP, the worker's server writes the lines.

import { mapAtOnce } from "../../../core/async/map-at-once.ts";
import type { Config } from "../../../core/config/config.ts";
import type { SyncAsk } from "../../../core/report/triggers.ts";
import { noTracer } from "../../../core/tracing.ts";
import { type ProfileStart, profileOf, STARTS_AT_ONCE } from "../../../queue/asking/asks.ts";
import { tracedTriggers } from "../../../queue/asking/traced-triggers.ts";
import { audited } from "../../audited.ts";
import type { CommandContext } from "../../command.ts";
import type { WorkerConnection } from "../worker-connection.ts";

export interface RecordedStarts {
  /** Throws PROFILE_UNKNOWN, AUDIT_UNWRITABLE and the errors of the triggers, as `all`. */
  one(ask: SyncAsk): Promise<ProfileStart>;
  /** A sync of every profile, in the order of the configuration. */
  all(ask: SyncAsk): Promise<readonly ProfileStart[]>;
}

export const recordedStarts = async (
  worker: WorkerConnection,
  profiles: readonly Config[],
  context: CommandContext,
): Promise<RecordedStarts> => {
  const [first] = profiles;
  const tracer = first === undefined ? noTracer : await context.tracer(first);
  const triggers = tracedTriggers(worker.triggers, tracer);

  const one = async (ask: SyncAsk): Promise<ProfileStart> => {
    if (worker.startAll !== null) return { ...(await triggers.start(ask)), profile: ask.profile };
    const config = profileOf(profiles, ask.profile);
    const deed = { action: "sync", subject: ask.streams.join(",") || null } as const;
    const start = () => triggers.start({ ...ask, profile: config.profile });
    const started = await audited(config, context, deed, start, ({ runId }) => ({ runId }));
    return { ...started, profile: config.profile };
  };
  return {
    one,
    all: (ask) =>
      worker.startAll?.(ask) ?? mapAtOnce(profiles, STARTS_AT_ONCE, ({ profile }) => one({ ...ask, profile })),
  };
};
