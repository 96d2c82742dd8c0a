// Parts that the settings of every kind of destination share: name, address, tables, and parsers of texts. PURE.
import { z } from "zod";
import { duration, plainText, shown, textList } from "../setting-parsers.ts";

/** A text that matches; `expected` completes "is not …". */
export const textLike = (expected: string, pattern: RegExp) =>
  plainText.superRefine((value, ctx) => {
    if (!pattern.test(value)) ctx.addIssue({ code: "custom", message: `${shown(value)} is not ${expected}` });
  });

/** One of these texts. */
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  plainText.pipe(z.enum(values, { error: `is not one of ${values.join(", ")}` }));

const [LEAST_WAIT_MS, MOST_WAIT_MS] = [1_000, 86_400_000];

/** How long a destination may give no sign of life until its delivery fails, ms. */
export const answerTimeout = (usual: string) =>
  duration
    .refine((ms) => ms >= LEAST_WAIT_MS && ms <= MOST_WAIT_MS, { error: "is not between 1s and 24h" })
    .prefault(usual);

/** Members of the settings of a kind: spread them into its object. */
export const sharedParts = {
  /** Unique; names the destination in commands, messages and jobs. */
  name: textLike("a name of letters, digits, - and _", /^[A-Za-z0-9][\w-]{0,62}$/),
  /** Where it is; its user names, passwords and keys are never shown. */
  url: textLike("an address", /\S/).optional(),
  /** Environment variable that holds the address. */
  url_env: textLike("the name of an environment variable", /^[A-Za-z_]\w*$/).optional(),
  /** Tables of the mirror to deliver; empty: all. */
  tables: textList.default([]),
};
