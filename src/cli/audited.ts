// Runs an action of a command with its lines in the audit trail: one before it is done, one when it has ended.
import { userInfo } from "node:os";
import type { Config } from "../core/config/config.ts";
import type { Deed, Result } from "../warehouse/audit/trail.ts";
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
  deed: Pick<Deed, "action" | "subject" | "sql">,
  work: () => Promise<T>,
  resultOf: (value: T) => Partial<Result> = () => ({}),
): Promise<T> => {
  const { openTrail } = await import("../warehouse/audit/trail.ts");
  const warn = (text: string) => terminal.err(`warning: ${text}\n`);
  const trail = openTrail({ dataDir: config.dataDir, ...config.audit, clock, warn });
  const end = trail.begin({ actor: "local", way: "command", osUser: osUser(), ...deed });
  // The action is over: a line that cannot be written must hide neither its report nor its error.
  const note = (result: Result) => {
    try {
      end(result);
    } catch (unwritten) {
      warn(asProblem(unwritten).message);
    }
  };
  try {
    const value = await work();
    note({ outcome: "ok", ...resultOf(value) });
    return value;
  } catch (error) {
    note({ outcome: asProblem(error).code });
    throw error;
  }
};
