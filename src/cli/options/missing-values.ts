// An option that took the next option for its value: `--data-dir $DIR --json` with an empty variable would work in a folder named
// "--json".
import type { Command } from "commander";
import { DuckmirrorError } from "../../core/errors.ts";

/** Throws USAGE if the value of an option is another option of the command. */
export const refuseMissingValues = (command: Command): void => {
  const flags = new Set(
    command.options.flatMap(({ long, short }) => [long, short]).filter((flag) => flag !== undefined),
  );
  for (const option of command.options) {
    const typed: unknown = command.getOptionValue(option.attributeName());
    const swallowed = [typed].flat().find((value) => typeof value === "string" && flags.has(value));
    if (!option.required || swallowed === undefined) continue;
    const detail = `option '${option.flags}' needs a value; ${String(swallowed)} is an option`;
    throw new DuckmirrorError("USAGE", { detail });
  }
};
