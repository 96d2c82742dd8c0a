// The argument `[streams...]`: the streams of a sync, a plan or a comparison; `--help` lists their names.
import type { Command } from "commander";
import { STREAM_NAMES } from "../catalog/streams.ts";

/** Adds the argument. `purpose`: what the command does with the streams. */
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
