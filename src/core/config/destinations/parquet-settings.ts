// Settings of a destination of kind parquet.
import { z } from "zod";
import { duration, yesNo } from "../setting-parsers.ts";
import { oneOf, sharedParts, textLike } from "./destination-parts.ts";

export const parquetSettings = z
  .strictObject({
    ...sharedParts,
    kind: z.literal("parquet"),
    /** How long files of earlier sets stay, so that readers can finish, ms. */
    keep_old_parts: duration.prefault("24h"),
    /** The bucket's region; unset: AWS_REGION or the AWS configuration. */
    region: textLike("a region", /^[\w-]+$/).optional(),
    /** Address of a service that speaks S3's protocol; unset: Amazon's, or Google's for gs://. */
    endpoint: textLike("an http address", /^https?:\/\/\S+$/).optional(),
    /** The bucket is in the path of the address, not in its host name. */
    path_style: yesNo.optional(),
    /** Encryption at the service. */
    sse: oneOf(["AES256", "aws:kms"]).optional(),
    kms_key_id: textLike("the id of a key", /^\S+$/).optional(),
  })
  .refine(({ sse, kms_key_id: key }) => key === undefined || sse === "aws:kms", {
    path: ["kms_key_id"],
    error: "needs sse: aws:kms",
  });
