// Changes of the queue with their lines in the audit trail. Over HTTP, the worker's server writes the line.
import type { Config } from "../../core/config/config.ts";
import { audited } from "../audited.ts";
import type { CommandContext } from "../command.ts";
import type { WorkerDoor } from "./door.ts";

/** `work` returns the id of the sync that it is about; null: none. */
export const recorded = async (
  action: "cancel" | "retry",
  door: WorkerDoor,
  config: Config,
  context: CommandContext,
  work: () => Promise<string | null>,
): Promise<string | null> =>
  door.queues === null ? work() : audited(config, context, { action }, work, (runId) => ({ runId }));
