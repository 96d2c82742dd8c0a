// duckmirror resume: ends a pause; what waited starts at once.
import { defineCommand } from "../../command.ts";
import { explainTargets, pauseOrResume, targetsInput } from "../../worker/control-queues.ts";

export const command = defineCommand({
  configure: (cli) => explainTargets(cli, "resume"),
  examples: {
    "duckmirror resume --fleet": "after the deploy",
    "duckmirror resume --profile acme": "syncs of one organization start again",
    "duckmirror resume --queue export --json": "for a program",
  },
  input: targetsInput("resume"),
  run: (input, context) => pauseOrResume("resume", input, context),
});
