// duckmirror feedback: reports wrong or missing data to the service. Costs one credit.
import { z } from "zod";
import { feedbackJob } from "../../../../jobs/feedback.ts";
import { FEEDBACK_CATEGORIES } from "../../../catalog/resources.ts";
import type { JsonObject } from "../../../core/json.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { anyArguments, choice, defineCommand, optionOf, repeated, usage } from "../../command.ts";
import { serviceContext } from "../../context.ts";

const rating = z
  .string()
  .regex(/^[1-5]$/, { error: "--rating is 1 to 5" })
  .transform(Number)
  .optional();

/** `endpoint=/v1/accounts` → `{"endpoint": "/v1/accounts"}`; a whole number is sent as one. */
const contextOf = (pairs: readonly string[]): JsonObject | null => {
  if (pairs.length === 0) return null;
  const entries = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw usage(`--about ${pair}: give name=value`);
    const value = pair.slice(at + 1);
    return [pair.slice(0, at), /^\d{1,15}$/.test(value) ? Number(value) : value] as const;
  });
  return Object.fromEntries(entries);
};

export const command = defineCommand({
  configure: (cli) => cli.argument("[message...]", "what is wrong or missing; - reads it from stdin"),
  examples: {
    'duckmirror feedback "The industry is wrong" --category wrong-data --about accountId=1042': "about one account",
    'duckmirror feedback "Please add webhooks" --category feature-request --rating 4': "a wish",
    "duckmirror feedback - <message.txt": "a longer text",
  },
  input: z.object({
    args: anyArguments,
    rating: optionOf(rating, { value: "<n>", summary: "1 to 5" }),
    category: choice("<category>", "kind of feedback", FEEDBACK_CATEGORIES),
    about: repeated("<name=value>", "subject, e.g. accountId=1042; may be repeated"),
  }),
  run: async (input, context) => {
    const { terminal } = context;
    const typed = input.args.join(" ");
    const message = (typed === "-" ? await terminal.readInput() : typed).trim();
    if (message === "") throw usage("no message was given");
    const feedback = {
      message,
      rating: input.rating ?? null,
      category: input.category ?? null,
      context: contextOf(input.about),
    };
    const config = await context.loadConfig();
    const service = await serviceContext(config, context);
    const warn = (text: string) => terminal.err(`warning: ${text}\n`);
    const send = () => feedbackJob(config, feedback, { ...service, warn });
    const { receipt, credits } = await audited(config, context, { action: "feedback" }, send);
    return context.show({ sent: true, credits, answer: receipt }, () => `Sent; it cost ${counted(credits, "credit")}.`);
  },
});
