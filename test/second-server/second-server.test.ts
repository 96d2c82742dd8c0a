// Services nobody here designed: each seed draws everything API.md does not show. See docs/RELIABILITY.md. Shows P1.
import { expect, test } from "vitest";
import { runTrial } from "./trial.ts";

/** Seeds 1 to this one: few enough for every commit. `npm run test:long` sets more. */
const SEEDS = Number(process.env.SECOND_SEEDS ?? 8);

const seeds = Array.from({ length: SEEDS }, (_, at) => at + 1);

// Some at once: while one waits for a socket, others go on.
test.concurrent.each(seeds)(
  "seed %i: the mirror equals the service, at the contract's exit codes and credits",
  async (seed) => {
    const { problems, story } = await runTrial(seed, "memory");
    const replay = `alone: npx tsx test/second-server/run.ts ${seed}`;
    expect(problems, [replay, ...story].join("\n")).toEqual([]);
  },
);
