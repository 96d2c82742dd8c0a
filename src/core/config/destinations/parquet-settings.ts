// Settings of a destination of kind parquet.
import { z } from "zod";
import { sharedParts } from "./destination-parts.ts";

export const parquetSettings = z.strictObject({ ...sharedParts, kind: z.literal("parquet") });
