// duckmirror unfollow: stops following companies. Their rows stay, unless they are to be erased. Sends nothing.
import { z } from "zod";
import { unfollowJob } from "../../../../jobs/following.ts";
import { counted } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { anyArguments, defineCommand, flag } from "../../command.ts";
import { inputOptions, readInputs } from "../../options/company-inputs.ts";

export const command = defineCommand({
  configure: (cli) => cli.argument("[inputs...]", "inputs as `duckmirror following` shows them"),
  examples: {
    "duckmirror unfollow example.com": "no sync reads its lists any more; its rows stay",
    "duckmirror unfollow example.com --erase": "its rows go, too",
  },
  input: z.object({
    args: anyArguments,
    ...inputOptions,
    erase: flag("also remove their rows, unless an account or another input names the company"),
  }),
  run: async (input, context) => {
    const inputs = await readInputs(input, context);
    const config = await context.loadConfig();
    const { removed, erased } = await audited(
      config,
      context,
      { action: "unfollow" },
      () => unfollowJob(config, inputs, { erase: input.erase, clock: context.clock }),
      ({ removed }) => ({ rows: removed.length }),
    );
    const rows = erased === null ? "" : ` ${counted(erased, "row")} erased.`;
    const code = await context.show(
      { removed, erased },
      () => `${counted(removed.length, "company is", "companies are")} no longer followed.${rows}`,
    );
    if (input.erase && erased === null) context.hint("The next `duckmirror sync` erases their rows.");
    return code;
  },
});
