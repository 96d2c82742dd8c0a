// duckmirror lookup: one company or account, from the mirror if it is fresh enough, else for one credit.
import { z } from "zod";
import { type LookupRequest, type LookupResult, lookupAtService, lookupInMirror } from "../../../../jobs/lookup.ts";
import { resolveToken } from "../../../core/config/secrets/token.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { parseDuration } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";
import { withError } from "../../problem.ts";
import { withSharedLimits } from "../../recorded-job.ts";
import { lookupJson, lookupLines } from "../../terminal/lookup-json.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  maxAge: z.string().optional(),
  maxCredits: z.string().optional(),
});

const questionOf = (args: readonly string[]): Pick<LookupRequest, "kind" | "input"> => {
  const [kind, ...words] = args;
  const input = words.join(" ").trim();
  if (kind !== "company" && kind !== "account") {
    throw new DuckmirrorError("USAGE", { detail: `lookup: "${kind ?? ""}" is neither company nor account` });
  }
  if (input === "") throw new DuckmirrorError("USAGE", { detail: `lookup ${kind}: name the ${kind}` });
  return { kind, input };
};

const ageOf = (text: string | undefined): number | null => {
  if (text === undefined) return null;
  const ms = text === "0" ? 0 : parseDuration(text);
  if (ms === null) {
    throw new DuckmirrorError("USAGE", { detail: `--max-age: "${text}" is not a duration like 12h or 7d` });
  }
  return ms;
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("<kind>", "company or account")
      .argument("<input...>", "company: id, domain, website, stock symbol or profile address; account: name or domain")
      .option(
        "--max-age <d>",
        "oldest mirrored answer to accept, e.g. 12h or 7d; 0: always ask the service (default: setting max_age)",
      )
      .option("--max-credits <n>", "0: never ask the service (exit code 4 if the mirror has no answer)"),
  examples: {
    "duckmirror lookup company acme.com": "from the mirror if it is fresh enough, else for one credit",
    "duckmirror lookup company https://acme.com/about --max-age 1d": "not older than a day",
    'duckmirror lookup account "Acme Corp" --json': "the consolidated insight; exit code 5: none, or several accounts",
    "duckmirror lookup account acme.com --max-credits 0": "what the mirror knows, without a credit",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { clock, version, scrubber, signal, shared, terminal } = context;
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const request = { ...questionOf(input.args), maxAgeMs: ageOf(input.maxAge) };
    const ask = async (): Promise<LookupResult> => {
      if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
      const token = await resolveToken(config);
      scrubber.hide(token);
      return withSharedLimits(config, context, (limits) =>
        lookupAtService(config, request, { ...limits, clock, random: Math.random, signal, version, token }),
      );
    };
    const result = await audited(
      config,
      context,
      { action: "lookup", subject: request.kind },
      async () => (await lookupInMirror(config, request, { clock })) ?? ask(),
      ({ error }) => ({ outcome: error?.code ?? "ok" }),
    );
    if (shared.json) await context.printJson(withError(lookupJson(result), result.error, scrubber));
    else await terminal.out(lookupLines(result, clock.now()));
    return result.error === null ? EXIT.done : context.printProblem(result.error).exitCode;
  },
});
