// duckmirror unfollow: follows companies no more. Their rows stay, unless they are to be erased. Sends nothing.
import { z } from "zod";
import { unfollowJob } from "../../../../jobs/following.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";
import { readInputs } from "../../options/company-inputs.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  file: z.string().optional(),
  column: z.string().optional(),
  erase: z.boolean().default(false),
});

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[inputs...]", "inputs as `duckmirror following` shows them")
      .option("--file <file>", "file with one input per line; - reads stdin")
      .option("--column <name>", "the file is a CSV; read the inputs from this column")
      .option("--erase", "also remove their rows, unless an account or another input names the company"),
  examples: {
    "duckmirror unfollow example.com": "no sync reads its lists any more; its rows stay",
    "duckmirror unfollow example.com --erase": "its rows go, too",
  },
  input: inputSchema,
  run: async (input, context) => {
    const inputs = await readInputs(input, context);
    const config = await context.loadConfig();
    const { clock, shared, terminal, printJson } = context;
    const { removed, erased } = await audited(
      config,
      context,
      { action: "unfollow" },
      () => unfollowJob(config, inputs, { erase: input.erase, clock }),
      ({ removed }) => ({ rows: removed.length }),
    );
    const later = input.erase && erased === null;
    if (shared.json) await printJson({ removed, erased });
    else {
      const rows = erased === null ? "" : ` ${counted(erased, "row")} erased.`;
      await terminal.out(`${counted(removed.length, "company is", "companies are")} no longer followed.${rows}\n`);
      if (later && !shared.quiet) terminal.err("The next `duckmirror sync` erases their rows.\n");
    }
    return EXIT.done;
  },
});
