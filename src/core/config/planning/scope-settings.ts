// Setting `scope`: which rows of accounts, contacts and signals to mirror, for which companies, and which signals get their
// full content.
import { z } from "zod";
import { timeMs } from "../../time.ts";
import { plainText, shown, structure, textList } from "../setting-parsers.ts";

/** Values that the API document names (API.md, "Resources and their fields"). */
const ACCOUNT_TYPES = [
  "prospect",
  "customer",
  "partner",
  "churned",
  "open-opportunity",
  "competitor",
  "other",
] as const;
const CHANGE_TYPES = ["promotion", "newJoiner", "departure", "internalChange", "newInRole"] as const;

/** Sorted, so that a scope has one text however it is written. */
const texts = textList.transform((values) => values.toSorted());

const named = <T extends string>(known: readonly T[]) =>
  texts.superRefine((values, ctx) => {
    const unknown = values.find((value) => !known.some((name) => name === value));
    if (unknown !== undefined) {
      ctx.addIssue({ code: "custom", message: `${shown(unknown)} is not one of ${known.join(", ")}` });
    }
  });

const date = plainText.transform((text, ctx): string => {
  const ms = timeMs(text);
  if (ms !== null) return new Date(ms).toISOString();
  ctx.addIssue({ code: "custom", message: `${shown(text)} is not a date like 2026-01-31` });
  return z.NEVER;
});

const accountIds = texts.superRefine((values, ctx) => {
  const wrong = values.find((value) => !/^\d{1,18}$/.test(value));
  if (wrong !== undefined) ctx.addIssue({ code: "custom", message: `${shown(wrong)} is not an account id` });
});

const yesNo = plainText
  .pipe(z.enum(["true", "false", "yes", "no"]))
  .transform((text) => text === "true" || text === "yes");

const scopeSchema = z.strictObject({
  accounts: z
    .strictObject({
      type: named(ACCOUNT_TYPES).optional(),
      priority: named(["1", "2", "3"]).optional(),
      owner_id: texts.optional(),
      ids: accountIds.optional(),
      text: plainText.optional(),
      signals_of_type: texts.optional(),
      signals_after: date.optional(),
    })
    .refine(({ signals_of_type: types, signals_after: after }) => (types === undefined) === (after === undefined), {
      error: "signals_of_type and signals_after apply together",
    })
    .optional(),
  signals: z.strictObject({ type: texts.optional(), since: date.optional() }).optional(),
  contacts: z.strictObject({ type: texts.optional(), change_type: named(CHANGE_TYPES).optional() }).optional(),
  content: z
    .strictObject(
      {
        "signals.fullContent": z
          .strictObject({ type: texts.optional(), accounts: accountIds.optional(), since: date.optional() })
          .optional(),
      },
      { error: "only signals.fullContent costs credits of its own; other content comes with its list" },
    )
    .optional(),
  companies: z.strictObject({ accounts_only: yesNo.default(false) }).optional(),
});

/** Rows to mirror; a part that is absent has no limits. Times are ISO 8601 in UTC. */
export type RowScope = z.output<typeof scopeSchema>;

export const scopeSetting = structure(scopeSchema)
  .prefault({})
  .meta({
    description:
      "Which accounts, contacts and signals to mirror; the service filters them. Rows outside are marked, never deleted.",
    examples: [{ accounts: { type: ["customer"], priority: 1 }, signals: { since: "2026-01-01" } }],
  });
