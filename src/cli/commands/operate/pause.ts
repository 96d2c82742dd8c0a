// duckmirror pause: stops new jobs of a profile, a queue or the whole fleet from starting; running ones continue.
import { defineCommand } from "../../command.ts";
import { explainTargets, pauseOrResume, targetsInput } from "../../worker/control-queues.ts";

export const command = defineCommand({
  configure: (cli) => explainTargets(cli, "pause"),
  examples: {
    "duckmirror pause --fleet": "quiet before a deploy: no sync starts, running ones end; `duckmirror jobs` shows when",
    "duckmirror pause --profile acme": "syncs of one organization wait; its schedules' ticks become one sync",
    "duckmirror pause --queue export": "exports wait",
    "duckmirror pause --queue deliver --json": "nothing is delivered until `resume`",
  },
  input: targetsInput("pause"),
  run: (input, context) => pauseOrResume("pause", input, context),
});
