// Draws plots with uPlot, in the page's colours and width, with a description for screen readers. Loads uPlot for the first of them.
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
  readonly bars?: boolean;
  readonly area?: boolean;
}

export interface PlotShape {
  /** Description for screen readers. */
  readonly label: string;
  /** Seconds since the epoch, or positions when `names` is given. */
  readonly x: readonly number[];
  readonly lines: readonly Line[];
  /** Names of the positions. */
  readonly names?: readonly string[];
}

const HEIGHT = 220;
const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const seriesOf = (paths: uPlot.Series.PathBuilderFactories, line: Line, index: number): uPlot.Series => {
  const stroke = colour(`--plot-${(index % 8) + 1}`);
  const bars = line.bars === true ? paths.bars?.({ size: [0.7, 40] }) : undefined;
  return {
    label: line.label,
    stroke,
    width: 2,
    spanGaps: true,
    points: { show: line.values.filter((value) => value !== null).length < 3 },
    value: (_chart, value) => (value === null ? "" : value.toLocaleString("en-US")),
    ...(line.dashed === true ? { dash: [6, 5] } : {}),
    ...(bars === undefined ? {} : { paths: bars, fill: `${stroke}aa` }),
    ...(line.area === true ? { fill: `${stroke}22` } : {}),
  };
};

const shortNumber = (value: number): string =>
  new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value);

const optionsOf = (
  paths: uPlot.Series.PathBuilderFactories,
  { lines, names }: PlotShape,
  width: number,
): uPlot.Options => {
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const named =
    names === undefined
      ? {}
      : {
          splits: () => names.map((_, index) => index),
          values: () => names.map((name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name)),
          rotate: names.length > 6 ? -40 : 0,
          size: names.length > 6 ? 80 : 40,
        };
  return {
    width,
    height: HEIGHT,
    scales: {
      x: names === undefined ? { time: true } : { time: false, range: [-0.6, names.length - 0.4] },
      y: { range: (_chart, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.08] },
    },
    axes: [
      { ...axis, ...named },
      { ...axis, size: 56, values: (_chart, values) => values.map(shortNumber) },
    ],
    // An empty legend would only say `--`: it shows values while the pointer is over the plot.
    series: [
      names === undefined
        ? { label: "", value: (_chart, at) => (at === null ? "" : new Date(at * 1000).toLocaleString()) }
        : { label: "", value: (_chart, at) => names[at] ?? "" },
      ...lines.map((line, index) => seriesOf(paths, line, index)),
    ],
    cursor: { drag: { x: false, y: false } },
  };
};

/** Draws the plot as wide as its place, anew for another width or theme; returns what ends that. */
const drawn = (UPlot: typeof uPlot, box: HTMLDivElement, shape: PlotShape): (() => void) => {
  let chart: uPlot | null = null;
  const draw = () => {
    chart?.destroy();
    const values: uPlot.AlignedData = [[...shape.x], ...shape.lines.map((line) => [...line.values])];
    chart = new UPlot(optionsOf(UPlot.paths, shape, Math.max(200, box.clientWidth)), values, box);
  };
  draw();
  let { clientWidth } = box;
  const resized = new ResizeObserver(() => {
    if (box.clientWidth === clientWidth) return;
    clientWidth = box.clientWidth;
    draw();
  });
  resized.observe(box);
  const themed = new MutationObserver(draw);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    resized.disconnect();
    themed.disconnect();
    chart?.destroy();
  };
};

export const Plot = ({ shape }: { shape: PlotShape }) => {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current;
    if (box === null || shape.x.length === 0) return;
    let gone = false;
    let end = () => {};
    import("uplot").then(
      ({ default: UPlot }) => {
        if (!gone) end = drawn(UPlot, box, shape);
      },
      () => {
        box.textContent = "The plot could not be loaded. Reload the page.";
      },
    );
    return () => {
      gone = true;
      end();
    };
  }, [JSON.stringify(shape)]);
  return shape.x.length === 0 ? (
    <p class="hint">Nothing to show yet.</p>
  ) : (
    <div class="plot" ref={place} role="group" aria-label={shape.label} />
  );
};
