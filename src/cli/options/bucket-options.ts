// Options of commands that read or write object storage.
import type { Command } from "commander";
import { z } from "zod";
import type { StoreSettings } from "../../deliver/stores/open-store.ts";

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
