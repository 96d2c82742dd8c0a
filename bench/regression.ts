// Regression gate: ratios of this run against those of the run that was last accepted. Never seconds: a ratio of two
// things measured in turns in one run is the same on a slow machine and on a fast one. Pure.
import { z } from "zod";
import type { Figure, Ratio } from "./case.ts";

const ratioSchema = z.object({
  least: z.number(),
  median: z.number(),
  most: z.number(),
  better: z.enum(["less", "more"]),
});

/** Case, then measure, then what was accepted. */
export const baselineSchema = z.record(z.string(), z.record(z.string(), ratioSchema));
export type Baseline = z.infer<typeof baselineSchema>;

interface CaseFigures {
  readonly id: string;
  readonly figures: readonly Figure[];
}

/** Beyond what both runs scattered, a ratio may be worse by this share before it counts as a regression. */
const TOLERANCE = 0.1;

const isWorse = (before: Ratio, now: Ratio): boolean =>
  now.better === "less" ? now.least > before.most * (1 + TOLERANCE) : now.most < before.least * (1 - TOLERANCE);

/** A sentence for every ratio that is worse than the accepted one in every round. New measures pass. */
export const regressions = (baseline: Baseline, results: readonly CaseFigures[]): readonly string[] =>
  results.flatMap(({ id, figures }) =>
    figures.flatMap(({ measure, ratio }) => {
      const before = baseline[id]?.[measure];
      if (ratio === undefined || before === undefined || !isWorse(before, ratio)) return [];
      return [`${id}: ${measure}: ${ratio.median.toFixed(2)} × now, ${before.median.toFixed(2)} × before`];
    }),
  );

/** The baseline with the ratios of these cases in place of what it held of them. */
export const accepted = (baseline: Baseline, results: readonly CaseFigures[]): Baseline => ({
  ...baseline,
  ...Object.fromEntries(
    results.flatMap(({ id, figures }) => {
      const ratios = figures.flatMap(({ measure, ratio }) => (ratio === undefined ? [] : [[measure, ratio] as const]));
      return ratios.length === 0 ? [] : [[id, Object.fromEntries(ratios)] as const];
    }),
  ),
});
