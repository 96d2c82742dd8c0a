// Many seeds, a few at a time: while one waits for the disk or for its clock, others go on.
import type { MirrorKind } from "./open-mirror.ts";
import { runTrial, type TrialResult } from "./trial.ts";

const AT_ONCE = 3;

/** Runs the seeds and answers with those that failed. */
export const runSeeds = async (
  seeds: readonly number[],
  kind: MirrorKind,
  onResult: (result: TrialResult) => void,
): Promise<readonly number[]> => {
  const left = [...seeds];
  const failed: number[] = [];
  const work = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      const result = await runTrial(seed, kind);
      if (result.problems.length > 0) failed.push(seed);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed.sort((a, b) => a - b);
};
