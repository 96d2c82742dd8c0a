// Services nobody here designed: each seed draws everything API.md does not show. See docs/RELIABILITY.md.
import { describe, expect, test } from "vitest";
import { runTrial } from "./trial.ts";

/** Seeds 1 to this one; CI asks for more. */
const SEEDS = Number(process.env.DUCKMIRROR_SECOND_SEEDS ?? 40);
const seeds = Array.from({ length: SEEDS }, (_, at) => at + 1);

// Three at a time: while one waits for the disk, others go on.
const AT_ONCE = 3;
const lanes = Array.from({ length: AT_ONCE }, (_, lane) => seeds.filter((seed) => seed % AT_ONCE === lane));

describe("the mirror equals a service drawn from a seed, at the exit codes and credits of the contract", () => {
  test.concurrent.each(lanes.map((lane) => [lane.length, lane] as const))("%i seeds", async (_, lane) => {
    const failures: string[] = [];
    for (const seed of lane) {
      const { problems, story } = await runTrial(seed, { program: null });
      if (problems.length === 0) continue;
      const replay = `seed ${seed} (alone: npx tsx test/second-server/run.ts ${seed})`;
      failures.push([replay, ...story, ...problems.slice(0, 12)].join("\n  "));
    }
    expect(failures.join("\n")).toBe("");
  });
});
