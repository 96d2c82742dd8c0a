// Lines of `status` on how well the last syncs were foreseen. Pure.
import { formatCount } from "../../../core/text/units.ts";
import type { MirrorStatus } from "../../../warehouse/read/read-status.ts";

type Forecasts = MirrorStatus["forecasts"];

const errorsOf = (forecasts: Forecasts): readonly number[] =>
  forecasts.flatMap(({ errorPercent }) => errorPercent ?? []);

/** Median of the errors without their signs, in percent; null: no forecast compares with what its sync spent. */
export const medianError = (forecasts: Forecasts): number | null => {
  const sizes = errorsOf(forecasts)
    .map(Math.abs)
    .sort((a, b) => a - b);
  return sizes[Math.floor(sizes.length / 2)] ?? null;
};

const signed = (percent: number): string => `${percent > 0 ? "+" : ""}${percent}%`;

/** `forecast of the last sync: off by +4%`, `forecasts of the last 3 syncs: off by 4% in the median (+4%, -2%, +10%)`; nothing before the first. */
export const forecastLines = (forecasts: Forecasts): readonly string[] => {
  const middle = medianError(forecasts);
  if (middle === null) return [];
  const errors = errorsOf(forecasts);
  const [only] = errors;
  if (only !== undefined && errors.length === 1) return [`forecast of the last sync: off by ${signed(only)}`];
  return [
    `forecasts of the last ${formatCount(errors.length)} syncs: off by ${middle}% in the median (${errors.map(signed).join(", ")})`,
  ];
};
