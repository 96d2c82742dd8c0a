// Options of commands that read or write object storage.
import type { Command } from "commander";
import { z } from "zod";
import type { BucketSettings } from "../deliver/stores/s3-store.ts";

export const bucketInput = {
  endpoint: z.string().optional(),
  region: z.string().optional(),
  pathStyle: z.boolean().optional(),
};

export const withBucketOptions = (cli: Command): Command =>
  cli
    .option("--endpoint <url>", "of a service that speaks S3's protocol and is not Amazon's or Google's")
    .option("--region <name>", "of the bucket (default: as AWS tools find it)")
    .option("--path-style", "the bucket is in the path of the address, not in the host name");

export const bucketOf = (input: z.output<z.ZodObject<typeof bucketInput>>): BucketSettings => ({
  endpoint: input.endpoint,
  region: input.region,
  pathStyle: input.pathStyle,
});
