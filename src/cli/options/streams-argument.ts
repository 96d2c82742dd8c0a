// Defines what several commands share: the argument `[streams...]`, whose names `--help` lists, and the options of buckets and of parts of
// a stream.
import type { Command } from "commander";
import { z } from "zod";
import { STREAM_NAMES } from "../../catalog/streams.ts";
import type { StoreSettings } from "../../deliver/stores/open-store.ts";
import { listOf, option, optionOf, repeated, usage } from "../command.ts";

// Options of commands that read or write object storage.

export const bucketOptions = {
  endpoint: option("<url>", "address of another service than Amazon's, Google's or Azure's"),
  account: option("<name>", "storage account of az:// (default: AZURE_STORAGE_ACCOUNT)"),
  region: option("<name>", "region of the bucket (default: as AWS tools find it)"),
  pathStyle: optionOf(z.boolean().optional(), {
    summary: "the bucket is in the path of the address, not in the host name",
  }),
};

export const bucketOf = ({
  account,
  endpoint,
  region,
  pathStyle,
}: z.output<z.ZodObject<typeof bucketOptions>>): StoreSettings => ({ account, endpoint, region, pathStyle });

// Options of commands that can read a part of the mirror: one list anew, or what is dated after a day.

export const partOptions = {
  reset: repeated("<stream[:scope]>", "read this list anew, and nothing else; may be repeated"),
  since: option("<date>", "read contacts that changed and signals dated after this day, and nothing else"),
};

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
  const named = args.flatMap((arg) => listOf(arg));
  if (named.length === 0 && args.length > 0)
    throw usage("the argument for the streams is empty; leave it out to mean all");
  return named;
};
