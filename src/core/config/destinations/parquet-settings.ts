// Settings of a destination of kind parquet.
import { z } from "zod";
import { duration, yesNo } from "../setting-parsers.ts";
import { answerTimeout, oneOf, sharedParts, textLike } from "./destination-parts.ts";

export const parquetSettings = z
  .strictObject({
    ...sharedParts,
    kind: z.literal("parquet"),
    /** How long files of earlier sets stay, so that readers can finish, ms. */
    keep_old_parts: duration.prefault("24h"),
    /** Longest time in which a request to object storage moves no byte; then it is sent again. */
    answer_timeout: answerTimeout("1m"),
    /** The bucket's region; unset: AWS_REGION or the AWS configuration. */
    region: textLike("a region", /^[\w-]+$/).optional(),
    /**
     * Address of a service that speaks S3's protocol, or of an account's blobs for az://; unset: Amazon's, Google's or
     * Azure's.
     */
    endpoint: textLike("an http address", /^https?:\/\/\S+$/).optional(),
    /** The bucket is in the path of the address, not in its host name. */
    path_style: yesNo.optional(),
    /** Storage account of an az:// address; unset: AZURE_STORAGE_ACCOUNT. */
    account: textLike("a storage account", /^[a-z0-9]{3,24}$/).optional(),
    /** Encryption at the service. */
    sse: oneOf(["AES256", "aws:kms"]).optional(),
    kms_key_id: textLike("the id of a key", /^\S+$/).optional(),
  })
  .refine(({ sse, kms_key_id: key }) => key === undefined || sse === "aws:kms", {
    path: ["kms_key_id"],
    error: "needs sse: aws:kms",
  });
