// duckmirror feedback: reports wrong or missing data to the service. Costs one credit.
import { z } from "zod";
import { feedbackJob } from "../../../../jobs/feedback.ts";
import { FEEDBACK_CATEGORIES } from "../../../catalog/resources.ts";
import { resolveToken } from "../../../core/config/secrets/token.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, defineCommand } from "../../command.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  rating: z
    .string()
    .regex(/^[1-5]$/, { error: "--rating is 1 to 5" })
    .transform(Number)
    .optional(),
  category: z.enum(FEEDBACK_CATEGORIES).optional(),
  about: z.array(z.string()).default([]),
});
type Input = z.output<typeof inputSchema>;

/** `endpoint=/v1/accounts` → `{"endpoint": "/v1/accounts"}`; a whole number is sent as one. */
const contextOf = (pairs: readonly string[]): JsonObject | null => {
  if (pairs.length === 0) return null;
  const entries = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new DuckmirrorError("USAGE", { detail: `--about ${pair}: give name=value` });
    const value = pair.slice(at + 1);
    return [pair.slice(0, at), /^\d{1,15}$/.test(value) ? Number(value) : value] as const;
  });
  return Object.fromEntries(entries);
};

const messageOf = async ({ args }: Input, { terminal }: CommandContext): Promise<string> => {
  const text = args.join(" ") === "-" ? await terminal.readInput() : args.join(" ");
  if (text.trim() === "") throw new DuckmirrorError("USAGE", { detail: "no message was given" });
  return text.trim();
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[message...]", "what is wrong or missing; - reads it from stdin")
      .option("--rating <n>", "1 to 5")
      .addOption(cli.createOption("--category <category>", "kind of feedback").choices([...FEEDBACK_CATEGORIES]))
      .option(
        "--about <name=value>",
        "subject, e.g. accountId=1042; may be repeated",
        (pair: string, all: string[] = []) => [...all, pair],
      ),
  examples: {
    'duckmirror feedback "The industry is wrong" --category wrong-data --about accountId=1042': "about one account",
    'duckmirror feedback "Please add webhooks" --category feature-request --rating 4': "a wish",
    "duckmirror feedback - <message.txt": "a longer text",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { clock, version, scrubber, signal, shared, terminal, printJson } = context;
    const message = await messageOf(input, context);
    const feedback = {
      message,
      rating: input.rating ?? null,
      category: input.category ?? null,
      context: contextOf(input.about),
    };
    const config = await context.loadConfig();
    if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
    const token = await resolveToken(config);
    scrubber.hide(token);
    const warn = (text: string) => terminal.err(`warning: ${text}\n`);
    const send = () => feedbackJob(config, feedback, { clock, random: Math.random, warn, version, token, signal });
    const { receipt, credits } = await audited(config, context, { action: "feedback" }, send, () => ({}));
    if (shared.json) await printJson({ sent: true, credits, answer: receipt });
    else await terminal.out(`Sent; it cost ${counted(credits, "credit")}.\n`);
    return EXIT.done;
  },
});
