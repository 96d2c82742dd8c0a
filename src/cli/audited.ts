// Runs an action of a command with two lines in the audit trail: one before it begins, one when it has ended.
import { userInfo } from "node:os";
import type { Config } from "../core/config/config.ts";
import type { AuditedAction, Result } from "../warehouse/audit/trail.ts";
import type { CommandContext } from "./command.ts";
import { asProblem } from "./problem.ts";

/** A user without a name, as in some containers, has a number. */
const osUser = (): string | null => {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? null : `uid ${process.getuid()}`;
  }
};

/** Does `work`; `resultOf` says what it came to. Throws AUDIT_UNWRITABLE where the trail is required, errors of `work`. */
export const audited = async <T>(
  config: Config,
  { clock, terminal }: CommandContext,
  action: Pick<AuditedAction, "action" | "subject" | "sql">,
  work: () => Promise<T>,
  resultOf?: (value: T) => Partial<Result>,
): Promise<T> => {
  const { inTrail } = await import("../warehouse/audit/trail.ts");
  const warn = (text: string) => terminal.err(`warning: ${text}\n`);
  const options = { dataDir: config.dataDir, ...config.audit, clock, warn };
  const who = { actor: "local", way: "command", osUser: osUser() } as const;
  return inTrail(options, { ...who, ...action }, work, resultOf, (error) => asProblem(error).code);
};
