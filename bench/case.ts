// What a benchmark case is, and how its figures become a table. Every figure is a count or a ratio measured in one run.

/** One line of the result table. */
export interface Figure {
  readonly measure: string;
  /** The figure as text, e.g. `1.00 × the lower bound`. */
  readonly value: string;
  /** What it has to reach, as text; empty where nothing was promised. */
  readonly aim: string;
  /** null where there is no aim. */
  readonly reached: boolean | null;
  /** A ratio with a direction, for the regression gate (regression.ts). */
  readonly ratio?: Ratio;
}

/** What rounds that took turns gave. */
export interface Ratio {
  readonly least: number;
  readonly median: number;
  readonly most: number;
  readonly better: "less" | "more";
}

export interface BenchCase {
  readonly id: string;
  readonly title: string;
  /** It needs more than Node: it runs only where `--only` names it. */
  readonly onlyNamed?: boolean;
  run(): Promise<readonly Figure[]>;
}

/** A figure that must not exceed `most`. */
export const atMost = (measure: string, value: number, most: number, unit: string, digits = 2): Figure => ({
  measure,
  value: `${value.toFixed(digits)}${unit}`,
  aim: `≤ ${most}${unit}`,
  reached: value <= most,
});

/** A figure that must reach `least`. */
export const atLeast = (measure: string, value: number, least: number, unit: string, digits = 2): Figure => ({
  measure,
  value: `${value.toFixed(digits)}${unit}`,
  aim: `≥ ${least}${unit}`,
  reached: value >= least,
});

/** A ratio nothing was promised about. */
export const ratio = (measure: string, value: number): Figure => ({
  measure,
  value: `${value.toFixed(2)} ×`,
  aim: "",
  reached: null,
});

/**
 * Ratios of rounds that took turns: their median, and from the least to the most. `aim`: what the median has to reach.
 */
export const ofRounds = (
  measure: string,
  ratios: readonly number[],
  aim: { readonly most: number } | { readonly least: number } | null = null,
): Figure => {
  const middle = median(ratios);
  const value = `${middle.toFixed(2)} × (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`;
  if (aim === null) return { measure, value, aim: "", reached: null };
  const found = { least: Math.min(...ratios), median: middle, most: Math.max(...ratios) };
  return "most" in aim
    ? { measure, value, aim: `≤ ${aim.most} ×`, reached: middle <= aim.most, ratio: { ...found, better: "less" } }
    : { measure, value, aim: `≥ ${aim.least} ×`, reached: middle >= aim.least, ratio: { ...found, better: "more" } };
};

const mark = ({ reached }: Figure): string => (reached === null ? "" : reached ? "yes" : "no");

/** Lines of a Markdown table. */
export const figureTable = (figures: readonly Figure[]): readonly string[] => [
  "| measured | figure | aim | reached |",
  "| --- | --- | --- | --- |",
  ...figures.map((figure) => `| ${figure.measure} | ${figure.value} | ${figure.aim} | ${mark(figure)} |`),
];

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};
