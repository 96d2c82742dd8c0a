// Plots with uPlot, in the page's colours and width, with a description for screen readers.
import type uPlot from "uplot";
import { make } from "../dom.ts";

declare global {
  interface Window {
    /** The plotting library, loaded by its own script. */
    readonly uPlot: typeof uPlot;
  }
}

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
  readonly bars?: boolean;
  readonly area?: boolean;
}

export interface Plot {
  /** Description for screen readers. */
  readonly label: string;
  /** Seconds since the epoch, or positions when `names` is given. */
  readonly x: readonly number[];
  readonly lines: readonly Line[];
  /** Names of the positions. */
  readonly names?: readonly string[];
  readonly fromZero?: boolean;
}

const HEIGHT = 220;
const shown = new Map<HTMLElement, { readonly plot: Plot; readonly chart: uPlot }>();

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const seriesOf = (line: Line, index: number): uPlot.Series => {
  const stroke = colour(`--plot-${(index % 8) + 1}`);
  const paths = line.bars === true ? window.uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined;
  return {
    label: line.label,
    stroke,
    width: 2,
    spanGaps: true,
    points: { show: line.values.filter((value) => value !== null).length < 3 },
    ...(line.dashed === true ? { dash: [6, 5] } : {}),
    ...(paths === undefined ? {} : { paths, fill: `${stroke}aa` }),
    ...(line.area === true ? { fill: `${stroke}22` } : {}),
  };
};

const shortNumber = (value: number): string =>
  new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value);

const draw = (place: HTMLElement, plot: Plot): uPlot => {
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const { names } = plot;
  const named =
    names === undefined
      ? {}
      : {
          splits: () => names.map((_, index) => index),
          values: () => names.map((name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name)),
          rotate: names.length > 6 ? -40 : 0,
          size: names.length > 6 ? 80 : 40,
        };
  const options: uPlot.Options = {
    width: Math.max(200, place.clientWidth),
    height: HEIGHT,
    scales: {
      x: names === undefined ? { time: true } : { time: false, range: [-0.6, names.length - 0.4] },
      y: {
        range: (_chart, low, high) => [plot.fromZero === false ? low : Math.min(0, low), high <= 0 ? 1 : high * 1.08],
      },
    },
    axes: [
      { ...axis, ...named },
      { ...axis, size: 56, values: (_chart, values) => values.map(shortNumber) },
    ],
    series: [
      names === undefined ? {} : { label: "", value: (_chart, at) => names[at] ?? "" },
      ...plot.lines.map(seriesOf),
    ],
    cursor: { drag: { x: false, y: false } },
  };
  return new window.uPlot(options, [[...plot.x], ...plot.lines.map((line) => [...line.values])], place);
};

/** Shows a plot in its place, instead of the previous content. */
export const showPlot = (place: HTMLElement, plot: Plot): void => {
  shown.get(place)?.chart.destroy();
  place.replaceChildren();
  if (plot.x.length === 0) {
    shown.delete(place);
    place.append(make("p", { class: "empty" }, "Nothing to show yet."));
    return;
  }
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", plot.label);
  shown.set(place, { plot, chart: draw(place, plot) });
};

/** Redraws every plot after a change of width or theme. */
export const redrawPlots = (): void => {
  for (const [place, { plot }] of [...shown]) if (place.clientWidth > 0) showPlot(place, plot);
};
