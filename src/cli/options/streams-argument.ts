// The argument `[streams...]` of sync, plan and verify; `--help` lists their names.
import type { Command } from "commander";
import { STREAM_NAMES } from "../../catalog/streams.ts";

/** Adds the argument. `purpose`: its meaning for the command. */
export const addStreams = (command: Command, purpose: string): Command =>
  command
    .argument("[streams...]", `streams to ${purpose} (default: those of the configuration, or all)`)
    .addHelpText(
      "after",
      `\nStreams:\n  ${STREAM_NAMES.slice(0, 6).join(", ")},\n  ${STREAM_NAMES.slice(6).join(", ")}`,
    );

/** `["accounts,signals", "usage"]` → one name each. */
export const streamsOf = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg) => arg.split(",")).filter((name) => name !== "");
