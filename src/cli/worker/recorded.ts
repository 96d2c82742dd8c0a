// Changes of the queue with their lines in the audit trail. Over HTTP, the worker's server writes the line.
import type { Config } from "../../core/config/config.ts";
import type { Deed, Result } from "../../warehouse/audit/trail.ts";
import { audited } from "../audited.ts";
import type { CommandContext } from "../command.ts";
import type { WorkerConnection } from "./worker-connection.ts";

/** Does `work`; `resultOf` says what it came to. Throws AUDIT_UNWRITABLE where the trail is required. */
export const recorded = async <T>(
  deed: Pick<Deed, "action" | "subject">,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
  work: () => Promise<T>,
  resultOf: (value: T) => Partial<Result>,
): Promise<T> => (worker.queues === null ? work() : audited(config, context, deed, work, resultOf));
