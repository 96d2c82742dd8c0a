// duckmirror follow: follows companies besides those of tracked accounts, from the next sync on. Sends nothing.
import { z } from "zod";
import { followJob, readsAccountsOnly } from "../../../../jobs/following.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { anyArguments, defineCommand } from "../../command.ts";
import { inputOptions, readInputs } from "../../options/company-inputs.ts";

const READ_NEXT =
  "The next `duckmirror sync` reads them; `duckmirror following` then names those that the service does not know.";
const NOT_READ = "No sync reads them: the setting `scope` has `companies: {accounts_only: true}`.";

export const command = defineCommand({
  configure: (cli) => cli.argument("[inputs...]", "company id, domain, website, stock symbol, or address of a profile"),
  examples: {
    "duckmirror follow example.com ACME": "a domain and a stock symbol",
    "duckmirror follow --file companies.txt": "one a line; empty lines and lines after # are skipped",
    "duckmirror follow --file crm.csv --column Website": "a column of a CSV",
  },
  input: z.object({ args: anyArguments, ...inputOptions }),
  run: async (input, context) => {
    const inputs = await readInputs(input, context);
    const config = await context.loadConfig();
    const { added, known } = await audited(
      config,
      context,
      { action: "follow" },
      () => followJob(config, inputs, context.clock),
      ({ added }) => ({ rows: added.length }),
    );
    const before = known.length === 0 ? "" : ` (${counted(known.length, "input")} followed before)`;
    const code = await context.show(
      { added, known },
      () => `${counted(added.length, "company", "companies")} added${before}.`,
    );
    if (added.length > 0) context.hint(readsAccountsOnly(config) ? NOT_READ : READ_NEXT);
    return code;
  },
});
