// The argument `[streams...]` of sync, plan and verify; `--help` lists their names.
import type { Command } from "commander";
import { z } from "zod";
import { STREAM_NAMES } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { parseDuration } from "../../core/text/units.ts";
import { parseTime } from "../../core/time.ts";
import type { StoreSettings } from "../../deliver/stores/open-store.ts";

// Options of commands that read or write object storage.

export const bucketInput = {
  account: z.string().optional(),
  endpoint: z.string().optional(),
  region: z.string().optional(),
  pathStyle: z.boolean().optional(),
};

export const withBucketOptions = (cli: Command): Command =>
  cli
    .option("--endpoint <url>", "address of another service than Amazon's, Google's or Azure's")
    .option("--account <name>", "storage account of az:// (default: AZURE_STORAGE_ACCOUNT)")
    .option("--region <name>", "region of the bucket (default: as AWS tools find it)")
    .option("--path-style", "the bucket is in the path of the address, not in the host name");

export const bucketOf = (input: z.output<z.ZodObject<typeof bucketInput>>): StoreSettings => ({
  account: input.account,
  endpoint: input.endpoint,
  region: input.region,
  pathStyle: input.pathStyle,
});

// The option --since: a time, or a duration before now.

/** `2025-01-31`, `2025-01-31T12:00Z` or `24h` ago → ms since the epoch. Throws USAGE. */
export const sinceOf = (text: string, now: number): number => {
  const ago = parseDuration(text);
  if (ago !== null) return now - ago;
  const time = parseTime(text);
  if (time === null) {
    throw new DuckmirrorError("USAGE", { detail: `--since: "${text}" is neither a time like 2025-01-31 nor 24h` });
  }
  return Number(time.micros) / 1000;
};

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
