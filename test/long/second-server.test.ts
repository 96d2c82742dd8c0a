// The built program against services drawn from a seed: what a user of the command line gets, kills included.
import { expect, inject, test } from "vitest";
import { runTrial } from "../second-server/trial.ts";

test.each([1001, 1003])(
  "seed %i: runs that are killed or limited end in a mirror equal to the service",
  async (seed) => {
    const { problems, story } = await runTrial(seed, { program: inject("builtCli") });
    expect(problems.join("\n"), [`seed ${seed}`, ...story].join("\n")).toBe("");
  },
);
