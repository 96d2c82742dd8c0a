// The argument `[streams...]` of sync, plan and verify; `--help` lists their names.
import type { Command } from "commander";
import { STREAM_NAMES } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";

// Options of commands that can read a part of the mirror: one list anew, or what is dated after a day.

const collected = (text: string, all: string[] = []) => [...all, text];

export const addParts = (cli: Command): Command =>
  cli
    .option("--reset <stream[:scope]>", "read this list anew, and nothing else; may be repeated", collected)
    .option("--since <date>", "read contacts that changed and signals dated after this day, and nothing else");

/** Adds the argument. `purpose`: its meaning for the command. */
export const addStreams = (command: Command, purpose: string): Command =>
  command
    .argument("[streams...]", `streams to ${purpose} (default: those of the configuration, or all)`)
    .addHelpText(
      "after",
      `\nStreams:\n  ${STREAM_NAMES.slice(0, 6).join(", ")},\n  ${STREAM_NAMES.slice(6).join(", ")}`,
    );

/**
 * `["accounts,signals", "usage"]` → one name each. Throws USAGE for arguments that name nothing: that of a script whose variable
 * is empty would otherwise mean all streams.
 */
export const streamsOf = (args: readonly string[]): readonly string[] => {
  const names = args.flatMap((arg) => arg.split(",")).map((name) => name.trim());
  const named = names.filter((name) => name !== "");
  if (named.length === 0 && args.length > 0) {
    throw new DuckmirrorError("USAGE", { detail: "the argument for the streams is empty; leave it out to mean all" });
  }
  return named;
};
