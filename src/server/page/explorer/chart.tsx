// A result as a plot that labels itself: numbers over the first time column, else over the first column that is no number.
import { cellText } from "../format.ts";
import { type Line, Plot, type PlotShape } from "../parts/plot.tsx";
import type { QueryResult } from "../wire.ts";
import { NUMERIC } from "./grid.tsx";

const POINTS_SHOWN = 2000;
const BARS_SHOWN = 30;
const TIMED = /^(DATE|TIMESTAMP)/;

const shapeOf = ({ columns, rows }: QueryResult): PlotShape => {
  const timed = columns.findIndex(({ type }) => TIMED.test(type));
  const named = columns.findIndex(({ type }) => !NUMERIC.test(type));
  const axis = timed >= 0 ? timed : named;
  const measures = columns.flatMap(({ name, type }, index) =>
    NUMERIC.test(type) && index !== axis ? [{ name, index }] : [],
  );
  const points = [...rows]
    .filter((row) => axis < 0 || row[axis] !== null)
    .sort((a, b) => (timed < 0 ? 0 : Date.parse(String(a[axis])) - Date.parse(String(b[axis]))))
    .slice(0, timed >= 0 ? POINTS_SHOWN : BARS_SHOWN);
  const lines = measures.slice(0, 8).map(
    ({ name, index }): Line => ({
      label: name,
      bars: timed < 0 && measures.length === 1,
      values: points.map((row) => (row[index] === null ? null : Number(row[index]))),
    }),
  );
  const label = `${measures.map(({ name }) => name).join(", ")} by ${columns[axis]?.name ?? "row"}`;
  if (lines.length === 0) return { label, x: [], lines: [] };
  if (timed >= 0) return { label, x: points.map((row) => Date.parse(String(row[axis])) / 1000), lines };
  const names = points.map((row, at) => (axis < 0 ? String(at + 1) : cellText(row[axis])));
  return { label, x: points.map((_, at) => at), lines, names };
};

export const Chart = ({ result }: { result: QueryResult }) => {
  const shape = shapeOf(result);
  return (
    <figure id="result-plot">
      <figcaption>{shape.x.length === 0 ? "A plot needs a column of numbers." : shape.label}</figcaption>
      <Plot shape={shape} />
    </figure>
  );
};
