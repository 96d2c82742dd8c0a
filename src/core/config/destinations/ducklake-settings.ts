// Settings of a destination of kind ducklake.
import { z } from "zod";
import { sharedParts, textLike } from "./destination-parts.ts";

export const ducklakeSettings = z.strictObject({
  ...sharedParts,
  kind: z.literal("ducklake"),
  /** Where the lake's files are; unset: where the catalog says. */
  data_path: textLike("a path", /\S/).optional(),
});
