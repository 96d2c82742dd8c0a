// The program's limiter against services that it does not know, seed by seed. RATE_SEEDS and RATE_SEED for longer runs. Shows P17.
import { describe, expect, test } from "vitest";
import { type Kind, scenarioOf } from "./scenarios.ts";
import { type Figures, simulate } from "./simulation.ts";

const SEEDS = Number(process.env.RATE_SEEDS ?? 12);
const FIRST = Number(process.env.RATE_SEED ?? 10);

const figuresOf = async (kind: Kind): Promise<readonly { readonly name: string; readonly figures: Figures }[]> => {
  const all = [];
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const scenario = scenarioOf(seed, kind);
    all.push({ name: scenario.name, figures: await simulate(scenario) });
  }
  return all;
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

describe(`services of the seeds from ${FIRST} on`, () => {
  test("that announce their window: hardly ever a refusal, and most of the rate is used", async () => {
    const all = await figuresOf("announced");
    expect(all.filter(({ figures }) => figures.bursts > 1)).toEqual([]);
    expect(all.filter(({ figures }) => figures.bursts > 0).length).toBeLessThanOrEqual(Math.ceil(SEEDS * 0.05));
    // After a refusal a smaller window is believed for an hour: one such run uses less.
    expect(all.filter(({ figures }) => figures.share < (figures.bursts > 0 ? 0.4 : 0.55))).toEqual([]);
    expect(median(all.map(({ figures }) => figures.share))).toBeGreaterThan(0.95);
  });

  test("that announce none: remaining and reset reveal it", async () => {
    const all = await figuresOf("revealed");
    expect(median(all.map(({ figures }) => figures.share))).toBeGreaterThan(0.9);
    // No run stands still, and none runs into refusals again and again.
    expect(all.filter(({ figures }) => figures.share < 0.1)).toEqual([]);
    expect(all.filter(({ figures }) => figures.early + figures.late > 25)).toEqual([]);
  });
});
