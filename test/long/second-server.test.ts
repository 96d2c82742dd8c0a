// The built program against a service drawn from a seed: what a user of the command line gets, kills included.
import { expect, inject, test } from "vitest";
import { runTrial } from "../second-server/trial.ts";

const SEED = 1001;

test(`seed ${SEED}: runs that are killed or limited end in a mirror equal to the service`, async () => {
  const { problems, story } = await runTrial(SEED, { program: inject("builtCli") });
  expect(problems.join("\n"), [`seed ${SEED}`, ...story].join("\n")).toBe("");
});
