// duckmirror follow: follows companies besides those of tracked accounts, from the next sync on. Sends nothing.
import { z } from "zod";
import { followJob, readsAccountsOnly } from "../../../../jobs/following.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";
import { readInputs } from "../../options/company-inputs.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  file: z.string().optional(),
  column: z.string().optional(),
});

const READ_NEXT =
  "The next `duckmirror sync` reads them; `duckmirror following` then names those that the service does not know.";
const NOT_READ = "No sync reads them: the setting `scope` has `companies: {accounts_only: true}`.";

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[inputs...]", "company id, domain, website, stock symbol, or address of a profile")
      .option("--file <file>", "file with one input per line; - reads stdin")
      .option("--column <name>", "the file is a CSV; read the inputs from this column"),
  examples: {
    "duckmirror follow example.com ACME": "a domain and a stock symbol",
    "duckmirror follow --file companies.txt": "one a line; empty lines and lines after # are skipped",
    "duckmirror follow --file crm.csv --column Website": "a column of a CSV",
  },
  input: inputSchema,
  run: async (input, context) => {
    const inputs = await readInputs(input, context);
    const config = await context.loadConfig();
    const { clock, shared, terminal, printJson } = context;
    const { added, known } = await audited(
      config,
      context,
      { action: "follow" },
      () => followJob(config, inputs, clock),
      ({ added }) => ({ rows: added.length }),
    );
    if (shared.json) await printJson({ added, known });
    else {
      const before = known.length === 0 ? "" : ` (${counted(known.length, "input")} followed before)`;
      await terminal.out(`${counted(added.length, "company", "companies")} added${before}.\n`);
      if (added.length > 0 && !shared.quiet) terminal.err(`${readsAccountsOnly(config) ? NOT_READ : READ_NEXT}\n`);
    }
    return EXIT.done;
  },
});
