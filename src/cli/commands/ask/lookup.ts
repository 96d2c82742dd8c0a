// duckmirror lookup: one company or account, from the mirror if it is fresh enough, else for one credit.
import { z } from "zod";
import { type LookupRequest, type LookupResult, lookupAtService, lookupInMirror } from "../../../../jobs/lookup.ts";
import { audited } from "../../audited.ts";
import { anyArguments, defineCommand, durationOf, option, usage } from "../../command.ts";
import { serviceContext } from "../../context.ts";
import { withSharedLimits } from "../../recorded-job.ts";
import { lookupJson, lookupLines } from "../../terminal/lookup-json.ts";

const questionOf = (args: readonly string[]): Pick<LookupRequest, "kind" | "input"> => {
  const [kind, ...words] = args;
  const input = words.join(" ").trim();
  if (kind !== "company" && kind !== "account") throw usage(`lookup: "${kind ?? ""}" is neither company nor account`);
  if (input === "") throw usage(`lookup ${kind}: name the ${kind}`);
  return { kind, input };
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("<kind>", "company or account")
      .argument("<input...>", "company: id, domain, website, stock symbol or profile address; account: name or domain"),
  examples: {
    "duckmirror lookup company acme.com": "from the mirror if it is fresh enough, else for one credit",
    "duckmirror lookup company https://acme.com/about --max-age 1d": "not older than a day",
    'duckmirror lookup account "Acme Corp" --json': "the consolidated insight; exit code 5: none, or several accounts",
    "duckmirror lookup account acme.com --max-credits 0": "what the mirror knows, without a credit",
  },
  input: z.object({
    args: anyArguments,
    maxAge: option(
      "<d>",
      "oldest mirrored answer to accept, e.g. 12h or 7d; 0: always ask the service (default: setting max_age)",
    ),
    maxCredits: option("<n>", "0: never ask the service (exit code 4 if the mirror has no answer)"),
  }),
  run: async (input, context) => {
    const { clock } = context;
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const question = questionOf(input.args);
    const maxAgeMs = input.maxAge === "0" ? 0 : durationOf("--max-age", input.maxAge, "12h or 7d", 0);
    const request = { ...question, maxAgeMs };
    const ask = async (): Promise<LookupResult> => {
      const service = await serviceContext(config, context);
      return withSharedLimits(config, context, (limits) => lookupAtService(config, request, { ...limits, ...service }));
    };
    const result = await audited(
      config,
      context,
      { action: "lookup", subject: request.kind },
      async () => (await lookupInMirror(config, request, { clock })) ?? ask(),
      ({ error }) => ({ outcome: error?.code ?? "ok" }),
    );
    return context.show(lookupJson(result), () => lookupLines(result, clock.now()), result.error);
  },
});
