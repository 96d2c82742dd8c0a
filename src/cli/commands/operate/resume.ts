// duckmirror resume: ends a pause; what waited starts at once.
import { defineCommand } from "../../command.ts";
import { addTargets, steer, steerInput } from "../../worker/steer.ts";

export const command = defineCommand({
  configure: (cli) => addTargets(cli, "resume"),
  examples: {
    "duckmirror resume --fleet": "after the deploy",
    "duckmirror resume --profile acme": "syncs of one organization start again",
    "duckmirror resume --queue export --json": "for a program",
  },
  input: steerInput,
  run: (input, context) => steer("resume", input, context),
});
