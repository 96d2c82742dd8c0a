// Settings of a destination of kind postgres.
import { z } from "zod";
import { answerTimeout, sharedParts, textLike } from "./destination-parts.ts";

export const postgresSettings = z.strictObject({
  ...sharedParts,
  kind: z.literal("postgres"),
  /** Schema that holds the tables; made if there is none. */
  schema: textLike("the name of a schema", /^[^\0"]{1,63}$/).default("duckmirror"),
  /** Longest time of one statement; a COPY may take longer while it goes on. */
  answer_timeout: answerTimeout("1h"),
});
